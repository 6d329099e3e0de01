#include "npzoo/models/trials/likelihood.h"

#include <doctest/doctest.h>

#include <numbers>

#include "npzoo/datasets/kinds/gp/oracle.h"
#include "npzoo/models/predictions/independent.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Knows the process that its tasks are drawn from and predicts the exact posterior.
class OracleModel final : public Model {
 public:
  OracleModel(const Kernel& kernel, double noise) : kernel_(kernel), noise_(noise) {}

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                             std::int64_t samples) const override {
    return std::make_unique<HeldContext>(context, draws, samples);
  }
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override {
    const Context& context = dynamic_cast<const HeldContext&>(state).context;
    Moments p{Tensor::empty(xt.shape(), DType::float64), Tensor::empty(xt.shape(), DType::float64)};
    for (std::int64_t b = 0; b < xt.dim(0); ++b) {
      const auto xc = doubles(row(context.xc, b)), yc = doubles(row(context.yc, b)), x = doubles(row(xt, b));
      const GpMarginals exact = GpPosterior(kernel_, {xc, 1}, yc, noise_).marginals({x, 1}, noise_);
      std::ranges::copy(exact.mean, p.mean.data<double>() + b * xt.dim(1));
      std::ranges::transform(exact.variance, p.std.data<double>() + b * xt.dim(1),
                             [](double v) { return std::sqrt(v); });
    }
    return std::make_unique<Independent>(p);
  }
  void visit(ModuleVisitor&) override {}
  std::optional<double> std_floor() const override { return 0.25; }
  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 1; }

 private:
  Kernel kernel_;
  double noise_;
};

/// Predicts one Gaussian everywhere.
class ConstantModel final : public Model {
 public:
  ConstantModel(double mean, double std) : mean_(mean), std_(std) {}

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                             std::int64_t samples) const override {
    return std::make_unique<HeldContext>(context, draws, samples);
  }
  std::unique_ptr<Prediction> do_query(const ContextState&, const Tensor& xt) const override {
    return std::make_unique<Independent>(Moments{Tensor::full(xt.shape(), mean_), Tensor::full(xt.shape(), std_)});
  }
  void visit(ModuleVisitor&) override {}
  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 1; }

 private:
  double mean_, std_;
};

constexpr double kNoise = 0.1;

/// Tasks of one known process; with few points each has five context points and a single target.
GpDistribution known_process(std::int64_t points) {
  GpDistribution d;
  d.kernels = {{KernelKind::rbf, {.a = 0.4}, {.a = 1}, {}}};
  d.points = points;
  d.context = {5, 6};
  d.min_targets = 1;
  d.context_noise = d.target_noise = kNoise;
  d.jitter = 1e-9;
  return d;
}

OracleModel oracle_of(const GpSampler& sampler) { return {sampler.draw(0).truth.kernels()[0], kNoise}; }

double normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

/// ∫ (F(x) − [x ≥ y])² dx by the midpoint rule on both sides of the jump.
double crps_by_integration(double mean, double std, double y) {
  constexpr int kPieces = 4000;
  const auto integral = [&](double low, double high, double step_at_y) {
    double sum = 0;
    for (int i = 0; i < kPieces; ++i) {
      const double x = low + (high - low) * (i + 0.5) / kPieces;
      sum += std::pow(normal_cdf((x - mean) / std) - step_at_y, 2);
    }
    return sum * (high - low) / kPieces;
  };
  const double low = std::min(y, mean) - 10 * std, high = std::max(y, mean) + 10 * std;
  return integral(low, y, 0) + integral(y, high, 1);
}

}  // namespace

TEST_CASE("evaluate: the exact posterior reaches the exact log-likelihood") {
  const GpSampler sampler(known_process(12), {8, 3, Split::evaluation});
  const Evaluation e = evaluate(oracle_of(sampler), sampler, {.batches = 20, .exact_batches = 20});
  CHECK(e.log_likelihood == doctest::Approx(e.exact_gp).epsilon(1e-5));
  CHECK(e.std_floor == 0.25);
  CHECK(e.tasks == 160);
  CHECK(std::abs(e.exact_gap) < 1e-5);
  CHECK(e.exact_gap_error < 1e-5);
  CHECK(std::isnan(evaluate(oracle_of(sampler), sampler, {.batches = 1}).exact_gp));
  CHECK(std::isnan(evaluate(oracle_of(sampler), sampler, {.batches = 1}).exact_gap));
  CHECK(error_of([&] { evaluate(oracle_of(sampler), sampler, {.batches = 0}); }) ==
        "[evaluate] 0 batches found, expected 1 or more");

  const Evaluation worse = evaluate(ConstantModel(0, 1), sampler, {.batches = 20, .exact_batches = 5});
  CHECK(worse.log_likelihood < e.log_likelihood);
  CHECK(worse.exact_gap > 3 * worse.exact_gap_error);
}

TEST_CASE("evaluate: the exact posterior of those batches that have one") {
  struct Sometimes final : TaskSource {
    GpSampler sampler{known_process(12), {8, 3, Split::evaluation}};
    Batch batch(std::uint64_t index) const override {
      Batch batch = sampler.batch(index);
      if (index % 3 != 1) batch.truth = nullptr;
      return batch;
    }
    Device device() const override { return sampler.device(); }
  };
  const Sometimes source;
  const Evaluation e = evaluate(ConstantModel(0, 1), source, {.batches = 9, .exact_batches = 8});
  double known = 0;
  for (const std::uint64_t i : {1, 4, 7}) {
    const Batch batch = source.batch(i);
    known += *mean_log_likelihood(*batch.truth, batch.task, Density::marginal) / 3;
  }
  CHECK(e.exact_batches == 3);
  CHECK(e.exact_gp == doctest::Approx(known));
  CHECK(e.truth == "exact GP");
  const Evaluation none = evaluate(ConstantModel(0, 1), source, {.batches = 1, .exact_batches = 1});
  CHECK(none.exact_batches == 0);
  CHECK(none.truth.empty());
}

TEST_CASE("evaluate: the exact posterior is scored as the model is") {
  const GpSampler sampler(known_process(12), {8, 3, Split::evaluation});
  const auto exact = [&](Density density, const GpSampler& from) {
    return evaluate(ConstantModel(0, 1), from, {.batches = 4, .exact_batches = 3, .density = density});
  };
  double marginal = 0, joint = 0;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Batch batch = sampler.batch(i);
    marginal += *mean_log_likelihood(*batch.truth, batch.task, Density::marginal) / 3;
    joint += *mean_log_likelihood(*batch.truth, batch.task, Density::joint) / 3;
  }
  REQUIRE(joint > marginal + 0.1);
  CHECK(exact(Density::marginal, sampler).exact_gp == doctest::Approx(marginal));
  CHECK(exact(Density::mixture, sampler).exact_gp == doctest::Approx(marginal));
  CHECK(exact(Density::joint, sampler).exact_gp == doctest::Approx(joint));
  CHECK(exact(Density::joint, sampler).exact_batches == 3);

  GpDistribution silent = known_process(12);
  silent.target_noise = 0;
  const GpSampler without(silent, {8, 3, Split::evaluation});
  CHECK(exact(Density::marginal, without).exact_batches == 3);
  CHECK(exact(Density::joint, without).exact_batches == 0);
  CHECK(std::isnan(exact(Density::joint, without).exact_gap));
}

TEST_CASE("evaluate: intervals of the exact posterior have their coverage") {
  const GpSampler sampler(known_process(7), {64, 4, Split::evaluation});  // one target a task, so all are independent
  const Evaluation e = evaluate(oracle_of(sampler), sampler, {.batches = 64});
  REQUIRE(e.tasks == 4096);
  for (const auto& interval : e.coverage) {
    CAPTURE(interval.first);
    const double p = interval.first / 100.0, share = interval.second;
    CHECK(std::abs(share - p) <= 3 * std::sqrt(p * (1 - p) / 4096));
  }
  CHECK(e.coverage.size() == 4);
}

TEST_CASE("evaluate: mean, standard error, coverage and CRPS by hand") {
  const GpSampler sampler(known_process(12), {4, 5, Split::evaluation});
  constexpr double kMean = 0.3, kStd = 0.7;
  constexpr std::int64_t kBatches = 3;
  std::vector<double> means;
  double crps = 0, inside = 0, count = 0;
  for (std::uint64_t i = 0; i < kBatches; ++i) {
    const auto y = doubles(sampler.task(i).yt);
    double sum = 0;
    for (double value : y) {
      const double z =
          (value - static_cast<double>(static_cast<float>(kMean))) / static_cast<double>(static_cast<float>(kStd));
      sum += -z * z / 2 - std::log(kStd) - std::log(2 * std::numbers::pi) / 2;
      crps += crps_by_integration(kMean, kStd, value);
      inside += std::abs(z) < 1.959963984540054;
      ++count;
    }
    means.push_back(sum / static_cast<double>(y.size()));
  }
  const double mean = (means[0] + means[1] + means[2]) / 3;
  double variance = 0;
  for (double m : means) variance += (m - mean) * (m - mean) / 2;

  const Evaluation e = evaluate(ConstantModel(kMean, kStd), sampler, {.batches = kBatches});
  // The model rounds its mean and deviation to float32.
  CHECK(e.log_likelihood == doctest::Approx(mean).epsilon(1e-6));
  CHECK(e.standard_error == doctest::Approx(std::sqrt(variance / 3)).epsilon(1e-6));
  CHECK(e.crps == doctest::Approx(crps / count).epsilon(1e-5));
  CHECK(e.coverage.at(95) == inside / count);
  CHECK(std::isnan(e.context_rmse));
  CHECK(std::isnan(e.context_log_likelihood));
}

TEST_CASE("evaluate: the context's points are scored where they are real") {
  GpDistribution d = known_process(12);
  d.context = {0, 7};
  d.targets = GpDistribution::Targets::all;
  d.ragged = true;
  const GpSampler sampler(d, {8, 5, Split::evaluation});
  constexpr float kMean = 0.3f;
  double squares = 0, count = 0;
  for (std::uint64_t i = 0; i < 2; ++i) {
    const Task task = sampler.task(i);
    const auto y = doubles(task.yc);
    for (std::int64_t row = 0; row < 8; ++row)
      for (std::int64_t point = 0; point < task.lengths.values<std::int64_t>()[row]; ++point, ++count)
        squares += std::pow(y[static_cast<std::size_t>(row * task.yc.dim(1) + point)] - kMean, 2);
  }
  const Evaluation e = evaluate(ConstantModel(kMean, 1), sampler, {.batches = 2, .context = true});
  CHECK(e.context_rmse == doctest::Approx(std::sqrt(squares / count)).epsilon(1e-9));
  const double log_normaliser = std::log(2 * std::numbers::pi) / 2;  // of a standard deviation of 1
  CHECK(e.context_log_likelihood == doctest::Approx(-squares / count / 2 - log_normaliser).epsilon(1e-9));
}

TEST_CASE("evaluate: the same for every number of threads, and it may be stopped") {
  const GpSampler sampler(known_process(12), {4, 5, Split::evaluation});
  const ConstantModel model(0, 1);
  const auto score = [&](int threads) {
    const ThreadCount count(threads);
    return evaluate(model, sampler, {.batches = 40, .exact_batches = 18});
  };
  const Evaluation expected = score(1);
  CHECK(expected.exact_batches == 18);
  for (const int threads : {3, 9}) {  // groups of 16 batches, and of 36
    CAPTURE(threads);
    const Evaluation found = score(threads);
    CHECK(found.log_likelihood == expected.log_likelihood);
    CHECK(found.exact_gp == expected.exact_gp);
    CHECK(found.exact_gap == expected.exact_gap);
    CHECK(found.crps == expected.crps);
  }
  std::int64_t done = 0;
  const auto stop = [&](std::int64_t batches) {
    done = batches;
    check(batches < 2, "[test] stopped");
  };
  CHECK(error_of([&] { evaluate(model, sampler, {.batches = 6, .progress = stop}); }) == "[test] stopped");
  CHECK(done == 2);
}

TEST_CASE("evaluate: on a device as on the CPU") {
  if (!has_gpu()) return;
  const ConstantModel model(0.3, 0.7);
  const auto score = [&](Device device) {
    const GpSampler sampler(known_process(12), {4, 5, Split::evaluation, DType::float64, device});
    return evaluate(model, sampler, {.batches = 20, .exact_batches = 18, .context = true});
  };
  const OnCpu off;
  const Evaluation expected = score(Device::cpu);
  const OnGpu on;
  const Evaluation found = score(Device::cuda);
  CHECK(found.exact_batches == 18);
  CHECK(found.tasks == 80);
  for (double Evaluation::*figure : {&Evaluation::log_likelihood, &Evaluation::standard_error, &Evaluation::crps,
                                     &Evaluation::context_rmse, &Evaluation::context_log_likelihood,
                                     &Evaluation::exact_gp, &Evaluation::exact_gap, &Evaluation::exact_gap_error})
    CHECK(found.*figure == doctest::Approx(expected.*figure).epsilon(1e-9));
}

TEST_CASE("evaluate: padded targets are no targets") {
  class Ragged final : public TaskSource {
   public:
    explicit Ragged(std::int64_t first) : first_(first) {}
    Batch batch(std::uint64_t /*index*/) const override {
      Task task{Tensor::zeros({2, 3, 1}), Tensor::zeros({2, 3, 1}), Tensor::zeros({2, 4, 1}), Tensor::zeros({2, 4, 1})};
      task.target_lengths = Tensor::from<std::int64_t>({2}, {first_, 4});
      return {task, nullptr};
    }
    Device device() const override { return Device::cpu; }

   private:
    std::int64_t first_;
  };
  const ConstantModel model(0, 1);
  CHECK(evaluate(model, Ragged(4), {}).log_likelihood == doctest::Approx(-0.5 * std::log(2 * std::numbers::pi)));
  CHECK(error_of([&] { evaluate(model, Ragged(2), {}); }) ==
        "[likelihood] tasks of 2 and of 4 targets found in a batch, expected one number");
}
