#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "npzoo/datasets/kinds/wheel/source.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/trials/lin_ucb.h"
#include "npzoo/models/trials/trial.h"
#include "tests/models/model_fixtures.h"
#include "tests/small_protocol.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr double kDelta = 0.7;

std::shared_ptr<const TaskConfig> wheels(std::int64_t steps, std::int64_t context = 0) {
  return parse_protocol(small_protocol("wheel", fmt::format("kind = \"wheel\"\nproblems = \"fresh\"\ndelta = {}\n"
                                                            "context = {}\ntargets = {}\n",
                                                            kDelta, context, steps)),
                        "f.toml")
      .data;
}

/// Knows what arms pay, or nothing; and keeps the contexts that it has been shown.
class Gambler final : public Model {
 public:
  explicit Gambler(bool knows, double std = 1e-3) : knows_(knows), std_(std) {}

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                             std::int64_t samples) const override {
    const std::lock_guard lock(showing_);
    shown.push_back(context);
    return std::make_unique<HeldContext>(context, draws, samples);
  }
  std::unique_ptr<Prediction> do_query(const ContextState& /*state*/, const Tensor& xt) const override {
    Tensor mean = Tensor::zeros(xt.shape().with(-1, wheel::kArms), DType::float64);
    for (std::int64_t i = 0; i < mean.numel() && knows_; ++i) {
      const double* at = xt.data<double>() + i / wheel::kArms * 2;
      mean.data<double>()[i] = wheel::mean_reward(i % wheel::kArms, wheel::best_arm(at[0], at[1], kDelta));
    }
    return std::make_unique<Independent>(Moments{mean, Tensor::full(mean.shape(), std_, DType::float64)});
  }
  void visit(ModuleVisitor&) override {}
  std::int64_t dim_x() const override { return 2; }
  std::int64_t dim_y() const override { return wheel::kArms; }

  mutable std::vector<Context> shown;

 private:
  bool knows_;
  double std_;
  mutable std::mutex showing_;
};

/// Another model, whose contexts are read again from the beginning.
class Forgetful final : public Model {
 public:
  explicit Forgetful(const Model& model) : model_(model) {}

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                             std::int64_t samples) const override {
    return model_.condition(context, draws, samples);
  }
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override {
    return model_.query(state, xt);
  }
  void visit(ModuleVisitor&) override {}
  std::int64_t dim_x() const override { return 2; }
  std::int64_t dim_y() const override { return wheel::kArms; }

 private:
  const Model& model_;
};

/// The same tasks, changed.
class Changed final : public TaskConfig {
 public:
  explicit Changed(std::function<void(Batch&)> change) : change_(std::move(change)) {}

  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    return std::make_unique<Source>(tasks_->source(options), change_);
  }
  std::int64_t dim_x() const override { return 2; }
  std::int64_t dim_y() const override { return wheel::kArms; }
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader&) const override { return tasks_; }
  TaskExtents typical_extents() const override { return tasks_->typical_extents(); }
  TrainingRange training_range() const override { return tasks_->training_range(); }

 private:
  class Source final : public TaskSource {
   public:
    Source(std::unique_ptr<TaskSource> source, const std::function<void(Batch&)>& change)
        : source_(std::move(source)), change_(change) {}
    Batch batch(std::uint64_t index) const override {
      Batch batch = source_->batch(index);
      change_(batch);
      return batch;
    }
    Device device() const override { return source_->device(); }

   private:
    std::unique_ptr<TaskSource> source_;
    const std::function<void(Batch&)>& change_;
  };

  std::function<void(Batch&)> change_;
  std::shared_ptr<const TaskConfig> tasks_ = wheels(20);
};

TrialOptions bandit_rules(std::int64_t last = 5, const std::string& policy = "ucb") {
  return {.tasks = {.batch_size = 10, .seed = 3, .split = Split::evaluation, .dtype = DType::float64},
          .batches = 2,
          .rules = {{"policy", policy},
                    {"width", 1.0},
                    {"samples", std::int64_t{1}},
                    {"last", last},
                    {"ridge", 1.0},
                    {"over", std::string("problems")}}};
}

Findings regrets_of(const Model& model, std::int64_t steps, const TrialOptions& how = bandit_rules()) {
  return find_trial("bandit").run(model, *wheels(steps), how);
}

double told(const Findings& found, const std::string& name) {
  const auto at = std::ranges::find(found.figures, name, &Figure::name);
  CAPTURE(name);
  REQUIRE(at != found.figures.end());
  return at->value.value;
}

std::vector<double> all_told(const Findings& found) {
  std::vector<double> values;
  for (const Figure& each : found.figures) values.push_back(each.value.value);
  return values;
}

std::unique_ptr<Model> gambling(const std::string& name) {
  ModelConfig config = model_config_from_json(model_info(name).small_forms[0], name);
  config.merge(ModelConfig{{"dim_x", std::int64_t{2}}, {"dim_y", std::int64_t{5}}});
  return varied_model({name, config});
}

}  // namespace

TEST_CASE(
    "bandit trial: uniform choice is 100 by construction, a model that knows the wheel loses its first step at most") {
  const OnCpu cpu;
  const Findings found = regrets_of(Gambler(true), 40);
  CHECK(found.tasks == 20);
  CHECK(found.headline().name == "cumulative_regret");
  CHECK_FALSE(found.headline().more_is_better);
  CHECK(told(found, "uniform_cumulative_regret") == doctest::Approx(100).epsilon(1e-12));
  CHECK(told(found, "uniform_simple_regret") == doctest::Approx(100).epsilon(1e-12));
  CHECK(told(found, "uniform_cumulative_deviation") > 5);
  // A fortieth of what uniform choice loses, were the first step like all others.
  CHECK(found.headline().value.value < 5);
  CHECK(told(found, "simple_regret") == 0);
  CHECK(told(found, "simple_deviation") == 0);
  CHECK(told(found, "best_arm") >= 39. / 40);
  CHECK(told(found, "regret_after.4") > told(found, "regret_after.40"));
  CHECK(told(found, "regret_after.40") == doctest::Approx(found.headline().value.value));
}

TEST_CASE(
    "bandit trial: an ignorant model chooses the first arm under a confidence bound, any arm by Thompson's rule") {
  const OnCpu cpu;
  const Findings bound = regrets_of(Gambler(false), 60);
  // The first arm is the best one inside, and there loses nothing: of the rest, more than chance does.
  CHECK(told(bound, "simple_regret") > 100);
  CHECK(told(bound, "best_arm") == doctest::Approx(kDelta * kDelta).epsilon(0.15));
  const Findings any = regrets_of(Gambler(false), 60, bandit_rules(60, "thompson"));
  CHECK(any.headline().value.value == doctest::Approx(100).epsilon(0.1));
  CHECK(told(any, "best_arm") == doctest::Approx(0.2).epsilon(0.2));
  // A model that knows the arms is certain under both policies.
  CHECK(told(regrets_of(Gambler(true), 60, bandit_rules(5, "thompson")), "simple_regret") == 0);
}

TEST_CASE("bandit trial: the model before training is a control, with its own choices") {
  const OnCpu cpu;
  TrialOptions how = bandit_rules();
  how.untrained = [] { return std::make_unique<Gambler>(false); };
  const Findings found = regrets_of(Gambler(true), 40, how), ignorant = regrets_of(Gambler(false), 40);
  CHECK(told(found, "untrained_cumulative_regret") == told(ignorant, "cumulative_regret"));
  CHECK(told(found, "untrained_simple_regret") == told(ignorant, "simple_regret"));
  CHECK(told(found, "untrained_cumulative_regret") > 10 * told(found, "cumulative_regret"));
  CHECK(std::ranges::count(ignorant.figures, "untrained_cumulative_regret", &Figure::name) == 0);
}

TEST_CASE("bandit trial: a model sees the rewards of its arms, and noise for the others") {
  const OnCpu cpu;
  const Gambler gambler(true);
  TrialOptions how = bandit_rules();
  how.batches = 1;
  regrets_of(gambler, 30, how);
  const Task task = wheels(30)->source(how.tasks)->task(0);
  REQUIRE(gambler.shown.size() == 29);
  const Context& last = gambler.shown.back();
  CHECK(last.yc.shape() == Shape{10, 29, 5});
  CHECK(same_bits(last.xc, slice(task.xt, 1, 0, 29)));
  RunningMean noise, squares;
  for (std::int64_t b = 0; b < 10; ++b)
    for (std::int64_t i = 1; i < 29; ++i) {
      const double* at = task.xt.data<double>() + (b * 30 + i) * 2;
      const std::int64_t best = wheel::best_arm(at[0], at[1], kDelta);
      for (std::int64_t arm = 0; arm < 5; ++arm) {
        const double shown = last.yc.data<double>()[(b * 29 + i) * 5 + arm];
        if (arm == best) {
          CHECK(shown == task.yt.data<double>()[(b * 30 + i) * 5 + arm]);
        } else {
          noise.add(shown);
          squares.add(shown * shown);
        }
      }
    }
  CHECK(std::abs(noise.estimate().value) < 5 / std::sqrt(static_cast<double>(noise.count())));
  CHECK(std::abs(squares.estimate().value - 1) < 5 * std::sqrt(2 / static_cast<double>(noise.count())));
  // The earlier context is unchanged.
  CHECK(same_bits(slice(last.yc, 1, 0, 12), gambler.shown[11].yc));
}

TEST_CASE(
    "bandit trial: a stream decides as a context read from its beginning does; functions are drawn in each step") {
  const OnCpu cpu;
  const auto cnp = gambling("cnp"), np = gambling("np");
  CHECK(cnp->streams());
  CHECK(all_told(regrets_of(*cnp, 20)) == all_told(regrets_of(Forgetful(*cnp), 20)));
  CHECK(np->streams());
  CHECK(all_told(regrets_of(*np, 20)) == all_told(regrets_of(Forgetful(*np), 20)));
}

TEST_CASE("bandit trial: the same for a seed, on any number of threads") {
  const OnCpu cpu;
  const auto model = gambling("cnp");
  const auto on = [&](int threads, std::uint64_t seed) {
    const ThreadCount count(threads);
    TrialOptions how = bandit_rules();
    how.tasks.seed = seed;
    return all_told(regrets_of(*model, 20, how));
  };
  CHECK(on(1, 3) == on(1, 3));
  CHECK(on(1, 3) == on(3, 3));
  CHECK(on(1, 3) == on(9, 3));
  CHECK(on(1, 3) != on(1, 4));
}

TEST_CASE("bandit trial: LinUCB loses less than uniform choice, and less later on") {
  const OnCpu cpu;
  const Findings found = regrets_of(*gambling("cnp"), 1000, bandit_rules(300));
  CHECK(told(found, "linear_cumulative_regret") < 60);
  CHECK(told(found, "linear_simple_regret") < told(found, "linear_cumulative_regret"));
}

TEST_CASE("bandit trial: LinUCB's bound is that of a ridge regression") {
  LinUcb two(2, 2, 0.5, 2);
  const std::vector<double> a{1, 2}, b{3, -1}, at{0.4, 0.7};
  CHECK(two.choose(at) == 0);  // the first of equals
  CHECK(two.bound(1, at) == doctest::Approx(2 * std::sqrt((0.16 + 0.49) / 0.5)));
  two.learn(1, a, 5);
  two.learn(1, b, -2);
  // A = ½ + a aᵀ + b bᵀ = [10.5, −1; −1, 5.5], sums = 5 a − 2 b = (−1, 12).
  const double det = 10.5 * 5.5 - 1;
  const double w0 = (5.5 * -1 + 12) / det, w1 = (-1 + 10.5 * 12) / det;
  const double spread = (5.5 * 0.16 + 2 * 0.4 * 0.7 + 10.5 * 0.49) / det;
  CHECK(two.bound(1, at) == doctest::Approx(0.4 * w0 + 0.7 * w1 + 2 * std::sqrt(spread)).epsilon(1e-12));
  CHECK(two.bound(0, at) == doctest::Approx(2 * std::sqrt((0.16 + 0.49) / 0.5)));
  CHECK(two.choose(at) == 1 - (two.bound(0, at) >= two.bound(1, at)));
  CHECK(error_of([] { LinUcb(2, 2, 0, 1); }) == "[lin_ucb] ridge 0 found, expected a number > 0");
}

TEST_CASE("bandit trial: a validation scores likelihoods") {
  const OnCpu cpu;
  TrialOptions how = bandit_rules();
  how.headline_only = true;
  CHECK(regrets_of(Gambler(true), 20, how).headline().name == "log_likelihood");
}

TEST_CASE("bandit trial: rules and tasks that it cannot use") {
  const OnCpu cpu;
  const auto error_with = [](const char* key, const ModelConfig::mapped_type& value) {
    TrialOptions how = bandit_rules();
    how.rules[key] = value;
    return error_of([&] { regrets_of(Gambler(true), 20, how); });
  };
  CHECK(error_with("policy", std::string("best")) == "[bandit] policy 'best' found, expected ucb or thompson");
  CHECK(error_with("last", std::int64_t{21}) == "[bandit] last = 21 found, expected at most the 20 steps");
  CHECK(error_with("ridge", -1.0) == "[bandit] ridge is -1, expected a number > 0");
  CHECK(error_with("patience", 3.0).find("patience") != std::string::npos);
  const auto error_on = [](const TaskConfig& tasks) {
    return error_of([&] { find_trial("bandit").run(Gambler(true), tasks, bandit_rules()); });
  };
  CHECK(error_on(*wheels(20, 4)) == "[bandit] 4 initial points found, expected `context = 0`");
  CHECK(error_on(Changed([](Batch& batch) { batch.truth = nullptr; })) ==
        "[bandit] tasks without known rewards found, expected tasks with a known truth");
  CHECK(error_on(Changed([](Batch& batch) { batch.task.yt = slice(batch.task.yt, 2, 0, 1); })) ==
        "[bandit] 20 steps of 1 arms found, expected 1 or more of 2 or more");
  CHECK(error_on(Changed([](Batch& batch) { batch.task.target_lengths = Tensor::full({10}, 3, DType::int64); })) ==
        "[bandit] tasks of different sizes found, expected the same number of steps for all");
  CHECK(error_on(Changed([](Batch& batch) {
          batch.task.yt = Tensor::zeros({10, 20, 5}, DType::float64);
        })) == "[bandit] uniform choice has no regret from step 0 to 20, expected some");
}
