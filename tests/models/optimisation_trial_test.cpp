#include <doctest/doctest.h>

#include <algorithm>

#include "npzoo/datasets/gaussian_processes/posterior.h"
#include "npzoo/datasets/kinds/gp/config.h"
#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/trials/trial.h"
#include "tests/models/model_fixtures.h"
#include "tests/small_protocol.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr Kernel kKernel{.kind = KernelKind::rbf, .lengthscale = 0.4, .scale = 1, .nugget = 1e-6};

/// Functions of a known process at `points` places, two of which are known at first.
GpConfig functions(std::int64_t points, bool ragged = false) {
  GpDistribution d;
  d.kernels = {{KernelKind::rbf, {.a = kKernel.lengthscale}, {.a = 1}, {}}};
  d.points = points;
  d.targets = GpDistribution::Targets::all;
  d.context = {2, ragged ? 4 : 3};
  d.ragged = ragged;
  d.jitter = kKernel.nugget;
  return GpConfig(d);
}

/// Knows that process, or believes the same of every place. In sequence it says nothing of a target without those
/// before it.
class Believer final : public Model {
 public:
  enum class Kind { knows, knows_in_sequence, ignorant };
  explicit Believer(Kind kind) : kind_(kind) {}

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                             std::int64_t samples) const override {
    return std::make_unique<HeldContext>(context, draws, samples);
  }
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override {
    if (kind_ == Kind::knows_in_sequence) {
      const auto& held = dynamic_cast<const HeldContext&>(state);
      return std::make_unique<Chain>(*this, state, xt, held.draws);
    }
    return each(state, xt);
  }
  std::unique_ptr<Prediction> each(const ContextState& state, const Tensor& xt) const {
    const Context& context = dynamic_cast<const HeldContext&>(state).context;
    Tensor mean = Tensor::zeros(xt.shape(), DType::float64), std = Tensor::full(xt.shape(), 1, DType::float64);
    for (std::int64_t b = 0; b < xt.dim(0) && kind_ != Kind::ignorant; ++b) {
      const std::vector<double> xc = doubles(row(context.xc, b)), yc = doubles(row(context.yc, b)),
                                x = doubles(row(xt, b));
      const auto [means, variances] = GpPosterior(kKernel, {xc, 1}, yc, 0).marginals({x, 1}, 0);
      for (std::size_t i = 0; i < x.size(); ++i) {
        mean.data<double>()[static_cast<std::size_t>(b) * x.size() + i] = means[i];
        std.data<double>()[static_cast<std::size_t>(b) * x.size() + i] = std::sqrt(variances[i]);
      }
    }
    return std::make_unique<Independent>(Moments{mean, std});
  }
  void visit(ModuleVisitor&) override {}
  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 1; }

 private:
  class Chain final : public Autoregressive {
   public:
    Chain(const Believer& model, const ContextState& state, const Tensor& xt, const Draws& draws)
        : Autoregressive(std::make_shared<const HeldContext>(state_as<HeldContext>(state, "believer")), xt, draws, 3,
                         1),
          model_(model) {}

   protected:
    std::unique_ptr<Prediction> next(const ContextState& state, const Tensor& xt) const override {
      return model_.each(state, xt);
    }
    std::unique_ptr<ContextState> after(const ContextState& state, const Context& observed) const override {
      return model_.update(state, observed);
    }

   private:
    const Believer& model_;
  };

  Kind kind_;
};

TrialOptions options(std::int64_t steps, bool repeat = false) {
  return {.tasks = {.batch_size = 40, .seed = 3, .split = Split::evaluation, .dtype = DType::float64},
          .batches = 2,
          .rules = {{"steps", steps}, {"acquisition", std::string("ei")}, {"margin", 1e-5}, {"repeat", repeat}}};
}

Findings searched(Believer::Kind kind, const TaskConfig& tasks, const TrialOptions& how) {
  return find_trial("optimisation").run(Believer(kind), tasks, how);
}

Estimate regret(const Findings& found, const std::string& name) {
  const auto at = std::ranges::find(found.figures, name, &Figure::name);
  CAPTURE(name);
  REQUIRE(at != found.figures.end());
  return at->value;
}

}  // namespace

TEST_CASE(
    "optimisation trial: a model that knows the process decides as the exact posterior does, in sequence or not") {
  const OnCpu cpu;
  const GpConfig tasks = functions(15);
  for (const bool repeat : {false, true}) {
    const Findings found = searched(Believer::Kind::knows, tasks, options(6, repeat));
    CHECK(found.tasks == 80);
    CHECK(found.headline().name == "simple_regret");
    CHECK_FALSE(found.headline().more_is_better);
    CHECK(regret(found, "excess_regret").value == 0);
    CHECK(regret(found, "exact_regret").value == found.headline().value.value);
    CHECK(regret(found, "cumulative_regret").value == regret(found, "exact_cumulative_regret").value);
    const Findings one_by_one = searched(Believer::Kind::knows_in_sequence, tasks, options(6, repeat));
    CHECK(one_by_one.headline().value.value == found.headline().value.value);
  }
}

TEST_CASE("optimisation trial: expected improvement by the exact posterior finds minima that chance does not") {
  const OnCpu cpu;
  const Findings found = searched(Believer::Kind::ignorant, functions(60), options(14));
  const Estimate exact = regret(found, "exact_regret"), chance = regret(found, "random_regret"),
                 ignorant = found.headline().value;
  CHECK(exact.value < 0.1 * chance.value);
  CHECK(chance.value > 0.05);
  // A constant prediction is as good as chance.
  CHECK(std::abs(ignorant.value - chance.value) < 4 * (ignorant.standard_error + chance.standard_error));
  CHECK(regret(found, "excess_regret").value == doctest::Approx(ignorant.value - exact.value).epsilon(1e-12));
}

TEST_CASE("optimisation trial: regrets fall to 0 when every place has been evaluated") {
  const OnCpu cpu;
  const Findings found = searched(Believer::Kind::ignorant, functions(9), options(7));
  double before = regret(found, "regret_after.0").value;
  CHECK(before > 0);
  for (int step = 1; step <= 7; ++step) {
    const double now = regret(found, "regret_after." + std::to_string(step)).value;
    CHECK(now <= before);
    before = now;
  }
  CHECK(before == 0);
  CHECK(regret(found, "minimum_found").value == 1);
  // With repetition, the first of equal points is evaluated each time.
  CHECK(searched(Believer::Kind::ignorant, functions(9), options(7, true)).headline().value.value > 0);
}

TEST_CASE("optimisation trial: progress is reported within batches") {
  const OnCpu cpu;
  TrialOptions how = options(3);
  how.batches = 2;
  std::vector<double> done;
  how.progress = [&](double batches) { done.push_back(batches); };
  searched(Believer::Kind::ignorant, functions(9), how);
  REQUIRE(std::ssize(done) == 2 * (4 * 3 + 1));  // four search for three steps each, then the batch is done
  CHECK(std::ranges::is_sorted(done));
  CHECK(done.front() == doctest::Approx(1.0 / 12));
  CHECK(done.back() == 2);
}

TEST_CASE("optimisation trial: the same on any number of threads, and more steps change no earlier one") {
  const OnCpu cpu;
  const auto curve = [](int threads, std::int64_t steps) {
    const ThreadCount count(threads);
    const Findings found = searched(Believer::Kind::knows, functions(15), options(steps));
    std::vector<double> all;
    for (int step = 0; step <= 3; ++step) all.push_back(regret(found, "regret_after." + std::to_string(step)).value);
    return all;
  };
  CHECK(curve(3, 3) == curve(1, 3));
  CHECK(curve(1, 5) == curve(1, 3));
}

TEST_CASE("optimisation trial: the model before training is a control, with its own search") {
  const OnCpu cpu;
  TrialOptions how = options(6);
  CHECK(std::ranges::count(searched(Believer::Kind::knows, functions(15), how).figures, "untrained_regret",
                           &Figure::name) == 0);
  how.untrained = [] { return std::make_unique<Believer>(Believer::Kind::ignorant); };
  const Findings found = searched(Believer::Kind::knows, functions(15), how),
                 ignorant = searched(Believer::Kind::ignorant, functions(15), options(6));
  CHECK(found.headline().value.value < regret(found, "untrained_regret").value);
  CHECK(regret(found, "untrained_regret").value == ignorant.headline().value.value);
  CHECK(regret(found, "untrained_cumulative_regret").value == regret(ignorant, "cumulative_regret").value);
  CHECK(regret(found, "untrained_regret_after.3").value == regret(ignorant, "regret_after.3").value);
}

TEST_CASE("optimisation trial: a fitted Gaussian process finds minima almost as the exact posterior does") {
  const OnCpu cpu;
  TrialOptions how = options(14);
  how.rules["fit_every"] = std::int64_t{2};
  const Findings found = searched(Believer::Kind::ignorant, functions(60), how);
  CHECK(regret(found, "fitted_gp_regret").value < 0.2 * regret(found, "random_regret").value);
  CHECK(regret(found, "fitted_gp_cumulative_regret").value != regret(found, "exact_cumulative_regret").value);
}

TEST_CASE(
    "optimisation trial: by Thompson's rule a model that knows the process finds minima, an ignorant one does not") {
  const OnCpu cpu;
  TrialOptions how = options(14);
  how.rules["acquisition"] = std::string("thompson");
  how.rules["fit_every"] = std::int64_t{2};
  const GpConfig tasks = functions(60);
  const Findings found = searched(Believer::Kind::knows, tasks, how),
                 ignorant = searched(Believer::Kind::ignorant, tasks, how);
  const Estimate chance = regret(found, "random_regret"), nothing = ignorant.headline().value;
  CHECK(found.headline().value.value < 0.5 * chance.value);
  CHECK(regret(found, "fitted_gp_regret").value < 0.5 * chance.value);
  CHECK(std::abs(nothing.value - chance.value) < 4 * (nothing.standard_error + chance.standard_error));
  const auto names_rule = [](const Findings& f) {
    return std::ranges::any_of(f.headline_lines,
                               [](const std::string& line) { return line.starts_with("exact GP by log-ei"); });
  };
  CHECK(names_rule(found));
  // It is another rule than expected improvement.
  how.rules["acquisition"] = std::string("ei");
  const Findings by_improvement = searched(Believer::Kind::knows, tasks, how);
  CHECK(regret(by_improvement, "cumulative_regret").value != regret(found, "cumulative_regret").value);
  CHECK_FALSE(names_rule(by_improvement));
}

TEST_CASE("optimisation trial: a validation scores likelihoods") {
  const OnCpu cpu;
  TrialOptions how = options(6);
  how.headline_only = true;
  CHECK(searched(Believer::Kind::ignorant, functions(15), how).headline().name == "log_likelihood");
}

TEST_CASE("optimisation trial: rules and tasks that it cannot use") {
  const OnCpu cpu;
  const auto error_with = [](const char* key, const ModelConfig::mapped_type& value) {
    TrialOptions how = options(6);
    how.rules[key] = value;
    return error_of([&] { searched(Believer::Kind::ignorant, functions(9), how); });
  };
  CHECK(error_with("steps", std::int64_t{0}).starts_with("[optimisation] "));
  CHECK(error_with("acquisition", std::string("best")) ==
        "[optimisation] acquisition 'best' found, expected ei, log-ei, ucb, pi or thompson");
  CHECK(error_with("fit_every", std::int64_t{-1}).find("fit_every is -1") != std::string::npos);
  CHECK(error_with("patience", 3.0).find("patience") != std::string::npos);
  CHECK(error_of([&] {
          searched(Believer::Kind::ignorant, functions(9, true), options(6));
        }).starts_with("[optimisation] tasks of different sizes or of several values found"));
}

TEST_CASE("optimisation: protocols of TNP-KR's table keep their training, and search among 150 places without noise") {
  for (const char* kernel : {"rbf", "matern", "periodic"}) {
    CAPTURE(kernel);
    const Protocol protocol = load_protocol(std::string("tnp-kr/bo1d-") + kernel),
                   trained = load_protocol(std::string("tnp-kr/gp1d-") + kernel);
    CHECK(same_data(protocol, trained));
    CHECK(protocol.training == trained.training);
    CHECK(protocol.models == trained.models);
    CHECK(protocol.evaluation.trial == "optimisation");
    CHECK(protocol.evaluation.rules.at("steps") == ModelConfig::mapped_type(std::int64_t{50}));
    const GpDistribution& d = *gp_distribution(*protocol.evaluation.tests.at(0).data);
    CHECK(d.kernels == gp_distribution(*protocol.data)->kernels);
    CHECK(d.context == IntegerRange{10, 11});
    CHECK(d.points + d.grid == 150);
    CHECK((d.context_noise == 0 && d.target_noise == 0 && !d.shared && !d.ragged));
    CHECK(gp_distribution(*protocol.data)->context_noise == 0.1);
  }
}
