#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>

#include "datasets/gp/oracle.h"
#include "engine/io/file.h"
#include "tests/models/training_fixtures.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;
using nlohmann::json;

namespace {

/// Remembers what it is told and stops the run after a number of steps.
class StopAfter final : public TrainObserver {
 public:
  explicit StopAfter(std::int64_t steps = 0) : steps_(steps) {}

  void on_step(std::int64_t step, double loss) override {
    seen = step;
    losses.push_back(loss);
  }
  void on_validation(std::int64_t step, double log_likelihood) override { validations[step] = log_likelihood; }
  bool stop_requested() override { return steps_ > 0 && seen >= steps_; }

  std::int64_t seen = 0;
  std::vector<double> losses;
  std::map<std::int64_t, double> validations;

 private:
  std::int64_t steps_;
};

TrainResult train_to(const TrainingRun& run, const TrainOptions& options, std::int64_t stop_after = 0) {
  StopAfter observer(stop_after);
  return train(run, options, observer);
}

Checkpoint checkpoint_in(const fs::path& out) { return load_checkpoint(out / "checkpoint.safetensors"); }

/// Lines of metrics without the one thing that differs from run to run.
std::vector<json> metrics_in(const fs::path& out) {
  std::vector<json> lines;
  std::ifstream file(out / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    lines.push_back(json::parse(line));
    lines.back().erase("seconds");
  }
  return lines;
}

Checkpoint after_steps(const TrainingRun& run, std::int64_t steps, int threads) {
  const ThreadCount count(threads);
  Trainer trainer(run);
  for (std::int64_t i = 0; i < steps; ++i) trainer.step();
  return trainer.checkpoint();
}

/// Knows the process that its tasks are drawn from and predicts the exact posterior.
class OracleModel final : public Model {
 public:
  OracleModel(const Kernel& kernel, double noise) : kernel_(kernel), noise_(noise) {}

  std::unique_ptr<ContextState> condition(const Context& context) const override {
    return std::make_unique<HeldContext>(context);
  }
  Prediction query(const ContextState& state, const Tensor& xt) const override {
    const Context& context = dynamic_cast<const HeldContext&>(state).context;
    Prediction p{Tensor::empty(xt.shape(), DType::float64), Tensor::empty(xt.shape(), DType::float64)};
    for (std::int64_t b = 0; b < xt.dim(0); ++b) {
      const auto xc = doubles(row(context.xc, b)), yc = doubles(row(context.yc, b)), x = doubles(row(xt, b));
      const GpMarginals exact = GpPosterior(kernel_, {xc, 1}, yc, noise_).marginals({x, 1}, noise_);
      std::ranges::copy(exact.mean, p.mean.data<double>() + b * xt.dim(1));
      std::ranges::transform(exact.variance, p.std.data<double>() + b * xt.dim(1),
                             [](double v) { return std::sqrt(v); });
    }
    return p;
  }
  void visit(ModuleVisitor&) override {}
  double std_floor() const override { return 0.25; }
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

  std::unique_ptr<ContextState> condition(const Context& context) const override {
    return std::make_unique<HeldContext>(context);
  }
  Prediction query(const ContextState&, const Tensor& xt) const override {
    return {Tensor::full(xt.shape(), mean_), Tensor::full(xt.shape(), std_)};
  }
  void visit(ModuleVisitor&) override {}
  double std_floor() const override { return 0; }
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

OracleModel oracle_of(const GpSampler& sampler) { return {sampler.batch(0).kernels[0], kNoise}; }

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

TEST_CASE("trainer: the same bits for every number of threads") {
  const TrainingRun run = small_run();
  const Checkpoint expected = after_steps(run, 20, 1);
  for (const int threads : {1, 2, 3, 5}) {
    CAPTURE(threads);
    CHECK(same_state(after_steps(run, 20, threads), expected));
  }
  TrainingRun other = run;
  other.seed = 8;
  CHECK_FALSE(same_bits(after_steps(other, 20, 1).weights, expected.weights));
}

TEST_CASE("trainer: a checkpoint goes on with the same bits, and later steps do not change it") {
  const TrainingRun run = small_run();
  Trainer trainer(run);
  for (int i = 0; i < 7; ++i) trainer.step();
  const Checkpoint seventh = trainer.checkpoint();
  const Weights copy = [&] {
    Weights weights;
    for (const auto& [name, tensor] : seventh.weights) weights[name] = tensor.clone();
    return weights;
  }();
  for (int i = 7; i < 20; ++i) trainer.step();
  CHECK(trainer.finished());
  CHECK(same_bits(seventh.weights, copy));

  Trainer resumed(seventh);
  CHECK(resumed.steps_done() == 7);
  while (!resumed.finished()) resumed.step();
  CHECK(same_state(resumed.checkpoint(), trainer.checkpoint()));
}

TEST_CASE("trainer: gradients are clipped to the norm of the protocol") {
  // After one step of Adam the first moment is a tenth of the gradient.
  const auto norm_of_gradient = [](const std::string& clip_norm) {
    double squares = 0;
    for (const auto& [name, moment] : after_steps(small_run({.clip_norm = clip_norm}), 1, 1).first_moments)
      for (double m : doubles(moment)) squares += m * m;
    return std::sqrt(squares) / 0.1;
  };
  const double whole = norm_of_gradient("0.0");
  CHECK(whole > 0.1);
  CHECK(norm_of_gradient("0.01") == doctest::Approx(0.01).epsilon(1e-5));
  CHECK(norm_of_gradient("1e6") == whole);
}

TEST_CASE("train: a run stopped anywhere and resumed is the run that was never stopped") {
  const TemporaryDirectory directory;
  const TrainingRun run = small_run({.steps = 120, .validate_every = 40});
  const TrainResult whole = train_to(run, {.out = directory / "whole"});
  CHECK(whole.finished);
  CHECK(whole.steps == 120);
  const Checkpoint expected = checkpoint_in(directory / "whole");
  const auto expected_metrics = metrics_in(directory / "whole");
  CHECK(expected_metrics.size() == 3 + 3);  // losses at 50, 100, 120; validations at 40, 80, 120

  for (const std::int64_t stop : {1, 39, 40, 50, 77, 119}) {
    CAPTURE(stop);
    const fs::path out = directory / std::to_string(stop);
    const TrainResult part = train_to(run, {.out = out}, stop);
    CHECK_FALSE(part.finished);
    CHECK(part.steps == stop);
    const TrainResult rest = train_to(run, {.out = out, .resume = true});
    CHECK(rest.finished);
    CHECK(rest.loss == whole.loss);
    CHECK(rest.log_likelihood == whole.log_likelihood);
    CHECK(same_state(checkpoint_in(out), expected));
    CHECK(metrics_in(out) == expected_metrics);
  }
}

TEST_CASE("train: metrics of steps that a crash took back are dropped") {
  const TemporaryDirectory directory;
  const TrainingRun run = small_run({.steps = 120});
  train_to(run, {.out = directory / "whole"});
  const fs::path out = directory / "crashed";
  train_to(run, {.out = out}, 60);
  std::ofstream(out / "metrics.jsonl", std::ios::app) << "{\"loss\": 1.0, \"step\": 100}\n{\"loss\": 1.0, \"st";
  train_to(run, {.out = out, .resume = true});
  CHECK(metrics_in(out) == metrics_in(directory / "whole"));
}

TEST_CASE("train: resuming a finished run changes nothing, resuming none begins one") {
  const TemporaryDirectory directory;
  const TrainingRun run = small_run();
  train_to(run, {.out = directory / "a", .resume = true});
  const Checkpoint first = checkpoint_in(directory / "a");
  const auto metrics = metrics_in(directory / "a");
  const TrainResult again = train_to(run, {.out = directory / "a", .resume = true});
  CHECK(again.finished);
  CHECK(again.steps == 20);
  CHECK(same_state(checkpoint_in(directory / "a"), first));
  CHECK(metrics_in(directory / "a") == metrics);
}

TEST_CASE("train: another run is refused and the first left alone") {
  const TemporaryDirectory directory;
  const fs::path out = directory / "run";
  const TrainingRun run = small_run();
  train_to(run, {.out = out}, 5);
  const std::string path = (out / "checkpoint.safetensors").string(), before = read_text(path);

  CHECK(error_of([&] { train_to(run, {.out = out}); }) ==
        "[train] " + path + " exists; resume that run with --resume or choose another --out");
  const auto refused = [&](const TrainingRun& other) {
    const std::string message = error_of([&] { train_to(other, {.out = out, .resume = true}); });
    CHECK(read_text(path) == before);
    return message;
  };
  const auto expected = [&](const std::string& what) {
    return "[train] " + path + " was begun with " + what + "; resume it unchanged or choose another --out";
  };
  TrainingRun other = run;
  other.seed = 8;
  CHECK(refused(other) == expected("seed 7, now it is 8"));
  CHECK(refused(small_run({.steps = 30})) == expected("steps 20, now it is 30"));
  other = run;
  other.protocol.training.batch_size = 5;
  CHECK(refused(other) == expected("batch size 4, now it is 5"));
  other = run;
  other.protocol.training.optimiser.lr = 0.5;
  CHECK(refused(other) == expected("learning rate 0.001, now it is 0.5"));
  other = run;
  other.spec.name = "cnp";
  CHECK(refused(other) == expected("model tnp-d, now it is cnp"));
  other = run;
  other.protocol.name = "large";
  CHECK(refused(other) == expected("protocol small, now it is large"));
  CHECK(refused(small_run({.clip_norm = "2.0"})) ==
        "[train] " + path + " was begun under another version of protocol small; choose another --out");
  other.protocol = parse_protocol("# other published rows\n" + run.protocol.text, "small");
  CHECK(train_to(other, {.out = out, .resume = true}).finished);
}

TEST_CASE("train: the best validation is kept") {
  const TemporaryDirectory directory;
  // A learning rate that makes the loss jump about, so that the last weights are not the best.
  const TrainingRun run = small_run({.steps = 40, .lr = "0.3", .keep = "best", .validate_every = 4});
  StopAfter observer;
  const TrainResult result = train(run, {.out = directory / "run"}, observer);
  const auto best = std::ranges::max_element(observer.validations, {}, [](const auto& v) { return v.second; });
  CHECK(observer.validations.size() == 10);
  REQUIRE(best->first < 40);

  const Checkpoint c = checkpoint_in(directory / "run");
  CHECK(c.best_step == best->first);
  CHECK(c.best_log_likelihood == best->second);
  CHECK(result.log_likelihood == best->second);
  const GpSampler validation(run.protocol.data, run.protocol.training.batch_size, 0, Split::validation, DType::float32,
                             default_device());
  CHECK(evaluate(*restore_model(c), validation, {.batches = 3}).log_likelihood == best->second);

  Checkpoint last = c;
  last.run.protocol.training.keep_best = false;
  CHECK(evaluate(*restore_model(last), validation, {.batches = 3}).log_likelihood == observer.validations.at(40));
}

TEST_CASE("train: a loss that is not finite ends the run and keeps the last checkpoint") {
  const TemporaryDirectory directory;
  const TrainingRun run = small_run({.lr = "1e30"});
  const std::string message = error_of([&] { train_to(run, {.out = directory / "run", .checkpoint_every = 1}); });
  CHECK(message.starts_with("[train] the loss became "));
  CHECK(message.ends_with("; a lower learning rate may help"));
  const Checkpoint kept = checkpoint_in(directory / "run");
  CHECK(kept.step >= 1);
  CHECK(message.find(fmt::format("in step {};", kept.step + 1)) != std::string::npos);
}

TEST_CASE("train: no place to write is an error") {
  const TemporaryDirectory directory;
  std::ofstream(directory / "file") << "not a directory";
  const fs::path out = directory / "file" / "run";
  CHECK(error_of([&] { train_to(small_run(), {.out = out}); }) ==
        "[train] " + out.string() + " cannot be made: Not a directory");
}

TEST_CASE("evaluate: the exact posterior reaches the exact log-likelihood") {
  const GpSampler sampler(known_process(12), 8, 3, Split::evaluation);
  const Evaluation e = evaluate(oracle_of(sampler), sampler, {.batches = 20, .exact_batches = 20});
  CHECK(e.log_likelihood == doctest::Approx(e.exact_gp).epsilon(1e-5));
  CHECK(e.std_floor == 0.25);
  CHECK(e.tasks == 160);
  CHECK(std::abs(e.exact_gap) < 1e-5);
  CHECK(e.exact_gap_error < 1e-5);
  CHECK(std::isnan(evaluate(oracle_of(sampler), sampler, {.batches = 1}).exact_gp));
  CHECK(std::isnan(evaluate(oracle_of(sampler), sampler, {.batches = 1}).exact_gap));
  CHECK(error_of([&] { evaluate(oracle_of(sampler), sampler, {.batches = 0}); }) ==
        "[evaluate] 0 batches asked for, expected 1 or more");

  const Evaluation worse = evaluate(ConstantModel(0, 1), sampler, {.batches = 20, .exact_batches = 5});
  CHECK(worse.log_likelihood < e.log_likelihood);
  CHECK(worse.exact_gap > 3 * worse.exact_gap_error);
}

TEST_CASE("evaluate: intervals of the exact posterior cover what they say") {
  const GpSampler sampler(known_process(7), 64, 4, Split::evaluation);  // one target a task, so all are independent
  const Evaluation e = evaluate(oracle_of(sampler), sampler, {.batches = 64});
  REQUIRE(e.tasks == 4096);
  for (const auto& [percent, share] : e.coverage) {
    CAPTURE(percent);
    const double p = percent / 100.0;
    CHECK(std::abs(share - p) <= 3 * std::sqrt(p * (1 - p) / 4096));
  }
  CHECK(e.coverage.size() == 4);
}

TEST_CASE("evaluate: mean, standard error, coverage and CRPS by hand") {
  const GpSampler sampler(known_process(12), 4, 5, Split::evaluation);
  constexpr double kMean = 0.3, kStd = 0.7;
  constexpr std::int64_t kBatches = 3;
  std::vector<double> means;
  double crps = 0, inside = 0, count = 0;
  for (std::uint64_t i = 0; i < kBatches; ++i) {
    const auto y = doubles(sampler.sample(i).yt);
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
}

TEST_CASE("evaluate: the context's points are scored where they are real") {
  GpDistribution d = known_process(12);
  d.context = {0, 7};
  d.targets = GpDistribution::Targets::all;
  d.ragged = true;
  const GpSampler sampler(d, 8, 5, Split::evaluation);
  constexpr float kMean = 0.3f;
  double squares = 0, count = 0;
  for (std::uint64_t i = 0; i < 2; ++i) {
    const Task task = sampler.sample(i);
    const auto y = doubles(task.yc);
    for (std::int64_t row = 0; row < 8; ++row)
      for (std::int64_t point = 0; point < task.lengths.values<std::int64_t>()[row]; ++point, ++count)
        squares += std::pow(y[static_cast<std::size_t>(row * task.yc.dim(1) + point)] - kMean, 2);
  }
  const Evaluation e = evaluate(ConstantModel(kMean, 1), sampler, {.batches = 2, .context = true});
  CHECK(e.context_rmse == doctest::Approx(std::sqrt(squares / count)).epsilon(1e-9));
}

TEST_CASE("evaluate: the same for every number of threads, and it may be stopped") {
  const GpSampler sampler(known_process(12), 4, 5, Split::evaluation);
  const ConstantModel model(0, 1);
  const auto score = [&](int threads) {
    const ThreadCount count(threads);
    return evaluate(model, sampler, {.batches = 20, .exact_batches = 3});
  };
  const Evaluation expected = score(1), found = score(3);
  CHECK(found.log_likelihood == expected.log_likelihood);
  CHECK(found.exact_gp == expected.exact_gp);
  CHECK(found.crps == expected.crps);
  std::int64_t done = 0;
  const auto stop = [&](std::int64_t batches) {
    done = batches;
    check(batches < 2, "[test] stopped");
  };
  CHECK(error_of([&] { evaluate(model, sampler, {.batches = 6, .progress = stop}); }) == "[test] stopped");
  CHECK(done == 2);
}
