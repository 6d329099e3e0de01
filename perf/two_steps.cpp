// A mixture of two steps, whose values between the steps are bimodal: trainings on it, samples of trained models, and
// their densities against quadrature. perf/flow.py runs this program and makes the report.

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "npzoo/datasets/integer_range.h"
#include "npzoo/datasets/scores.h"
#include "npzoo/datasets/task_config.h"
#include "npzoo/datasets/toml_reader.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/models/training/named_weights.h"
#include "npzoo/models/training/run_request.h"
#include "npzoo/models/training/trainer.h"
#include "tools/cli/command_line.h"
#include "tools/cli/common_options.h"

using namespace npzoo;
using namespace npzoo::tools;
using nlohmann::json;

namespace {

constexpr double kFirst = -0.5, kSecond = 0.5, kReach = 2;
constexpr double kNear = 3;  // standard deviations of the noise

struct TwoSteps {
  double noise = 0;
  IntegerRange context{}, targets{};
};

double step_at(double place, double x) { return x < place ? -1 : 1; }

/// Log-density of values at inputs for either function, with the functions' shares of one half.
std::pair<double, double> log_parts(std::span<const double> x, std::span<const double> y, double noise) {
  std::pair<double, double> sum{std::log(0.5), std::log(0.5)};
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum.first += log_normal_density(y[i], step_at(kFirst, x[i]), noise * noise);
    sum.second += log_normal_density(y[i], step_at(kSecond, x[i]), noise * noise);
  }
  return sum;
}

double log_sum(std::pair<double, double> parts) {
  const double most = std::max(parts.first, parts.second);
  return most + std::log(std::exp(parts.first - most) + std::exp(parts.second - most));
}

class TwoStepsSource final : public TaskSource {
 public:
  TwoStepsSource(const TwoSteps& rules, const SourceOptions& options) : rules_(rules), options_(options) {}

  Batch batch(std::uint64_t index) const override {
    Random random(options_.seed, static_cast<std::uint64_t>(options_.split) << 56 | index);
    const std::int64_t rows = options_.batch_size;
    const std::int64_t nc = rules_.context.draw(random), nt = rules_.targets.draw(random);
    const auto empty = [&](std::int64_t n) { return Tensor::empty({rows, n, 1}, DType::float64, Device::cpu); };
    Tensor xc = empty(nc), yc = empty(nc), xt = empty(nt), yt = empty(nt);
    for (std::int64_t row = 0; row < rows; ++row) {
      const double place = random.uniform() < 0.5 ? kFirst : kSecond;
      const auto observe = [&](Tensor& x, Tensor& y) {
        for (std::int64_t i = row * x.dim(1); i < (row + 1) * x.dim(1); ++i) {
          x.data<double>()[i] = random.uniform(-kReach, kReach);
          y.data<double>()[i] = step_at(place, x.data<double>()[i]) + rules_.noise * random.normal();
        }
      };
      observe(xc, yc);
      observe(xt, yt);
    }
    return {Task{xc.to(options_.dtype), yc.to(options_.dtype), xt.to(options_.dtype), yt.to(options_.dtype)}, {}};
  }
  Device device() const override { return options_.device; }

 private:
  TwoSteps rules_;
  SourceOptions options_;
};

class TwoStepsConfig final : public TaskConfig {
 public:
  explicit TwoStepsConfig(const TwoSteps& rules) : rules_(rules) {}

  static std::shared_ptr<const TaskConfig> read(TomlReader& data) {
    TwoSteps rules{.noise = data.number("noise", "standard deviation of the noise", kPositive)};
    std::tie(rules.context.low, rules.context.high) = data.range("context", "number of context points", 0, 1000);
    std::tie(rules.targets.low, rules.targets.high) = data.range("target_count", "number of targets", 1, 1000);
    return std::make_shared<const TwoStepsConfig>(rules);
  }

  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 1; }
  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    check(options.device == Device::cpu, "[two-steps] another device found, expected cpu");
    return std::make_unique<TwoStepsSource>(rules_, options);
  }
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& /*test*/) const override {
    return std::make_shared<const TwoStepsConfig>(*this);
  }
  TaskExtents typical_extents() const override { return {rules_.context.high / 2, rules_.targets.high / 2}; }
  TrainingRange training_range() const override {
    return {.inputs = {-kReach, kReach}, .min_context = rules_.context.low, .max_context = rules_.context.high - 1};
  }
  double noise() const { return rules_.noise; }

 private:
  TwoSteps rules_;
};

constexpr TaskFamily kTwoSteps{"two-steps", TwoStepsConfig::read};

struct TwoStepsCommand {
  CommonOptions common;
  std::string protocol, model, checkpoint;
  std::filesystem::path out;
  std::optional<std::int64_t> steps;
  std::int64_t samples = 2000, batches = 10, timesteps = 0;
  std::optional<double> end;
};

void add_flags(Flags& flags, TwoStepsCommand& c) {
  add_flags(flags, c.common);
  flags.text("--protocol", c.protocol, "path of perf/protocols/two-steps.toml, for a training");
  flags.text("--model", c.model, "model to train: flownp or tnp-a");
  flags.text("--out", c.out, "directory of the training");
  flags.whole("--steps", c.steps, {1}, "number of updates (default: the protocol's)");
  flags.text("--checkpoint", c.checkpoint, "trained model to examine, in place of a training");
  flags.whole("--samples", c.samples, {1, 50'000}, "samples of each question");
  flags.whole("--batches", c.batches, {0, 10'000}, "batches of tests for log-likelihoods, 0 for none");
  flags.positive("--end", c.end, "integrate the density of two targets from minus this value to it (default: no)");
  flags.whole("--timesteps", c.timesteps, {0, 10'000}, "steps of flownp from time 0 to 1, 0: those of the training");
}

Tensor column(const std::vector<double>& values) {
  return Tensor::from<double>({1, std::ssize(values), 1}, std::span<const double>(values)).to(DType::float32);
}

/// A trained model.
class Examined {
 public:
  Examined(const Checkpoint& checkpoint, std::int64_t samples) : model_(restore_model(checkpoint)), samples_(samples) {
    noise_ = dynamic_cast<const TwoStepsConfig&>(*checkpoint.run.protocol.data).noise();
  }

  /// The truth for a context without a point between the steps: either function is as likely.
  json ambiguous(std::optional<double> end) const {
    json found;
    const Context context{column({-1.5, 1.5}), column({-1, 1}), {}};
    found["one"] = samples_at(context, {0});
    found["two"] = samples_at(context, {-0.25, 0.25});
    std::vector<double> x;
    for (int i = 0; i <= 40; ++i) x.push_back(-2 + 0.1 * i);
    found["x"] = x;
    found["functions"] = draw(context, x, 12);
    found["density"] = density_of_one(context);
    if (end) found["two_targets"] = integral_of_two(context, *end);
    return found;
  }

  /// Nats per target over batches of tests: the model's joint density, each target by itself, and the true joint one.
  json scores(const TaskConfig& data, std::int64_t batches) const {
    const auto source = data.source({.batch_size = 16, .split = Split::evaluation});
    std::vector<double> joint, marginal, truth;
    for (std::int64_t i = 0; i < batches; ++i) {
      const Task task = source->task(static_cast<std::uint64_t>(i));
      const Tensor given = task.yc.to(DType::float64), places = task.xc.to(DType::float64);
      const Tensor asked = task.xt.to(DType::float64), wanted = task.yt.to(DType::float64);
      const auto prediction = predict({task.xc, task.yc, {}}, task.xt);
      const Tensor together = prediction->joint_log_likelihood(task.yt);
      const Tensor apart = prediction->log_likelihood(task.yt).to(DType::float64);
      const std::int64_t nc = task.xc.dim(1), nt = task.xt.dim(1);
      const auto points = static_cast<double>(nt);
      const auto row_of = [](const Tensor& t, std::int64_t row) {
        return std::span(t.data<double>() + row * t.dim(1), static_cast<std::size_t>(t.dim(1)));
      };
      for (std::int64_t row = 0; row < task.xt.dim(0); ++row) {
        const auto before = nc == 0 ? std::pair(std::log(0.5), std::log(0.5))
                                    : log_parts(row_of(places, row), row_of(given, row), noise_);
        const auto after = log_parts(row_of(asked, row), row_of(wanted, row), noise_);
        const double both =
            log_sum({before.first + after.first - std::log(0.5), before.second + after.second - std::log(0.5)});
        truth.push_back((both - log_sum(before)) / points);
        joint.push_back(together.data<double>()[row] / points);
        double sum = 0;
        for (const double value : row_of(apart, row)) sum += value;
        marginal.push_back(sum / points);
      }
    }
    return {{"tasks", joint.size()}, {"joint", joint}, {"marginal", marginal}, {"true_joint", truth}};
  }

 private:
  std::unique_ptr<Prediction> predict(const Context& context, const Tensor& xt) const {
    Draws draws(1, Purpose::prediction, 0);
    const auto state = model_->condition(context, draws, kSamples);
    return model_->query(*state, xt);
  }

  std::vector<std::vector<double>> draw(const Context& context, const std::vector<double>& x, std::int64_t n) const {
    Draws draws(2, Purpose::prediction, 0);
    const Tensor drawn = predict(context, column(x))->sample(n, draws);
    std::vector<std::vector<double>> found;
    const auto points = std::ssize(x);
    for (std::int64_t i = 0; i < n; ++i)
      found.emplace_back(drawn.data<double>() + i * points, drawn.data<double>() + (i + 1) * points);
    return found;
  }

  /// Shares of samples all of whose values are near the first function, near the second, and the others.
  json samples_at(const Context& context, const std::vector<double>& x) const {
    const auto drawn = draw(context, x, samples_);
    double first = 0, second = 0;
    for (const auto& y : drawn) {
      bool one = true, other = true;
      for (std::size_t i = 0; i < x.size(); ++i) {
        one = one && std::abs(y[i] - step_at(kFirst, x[i])) < kNear * noise_;
        other = other && std::abs(y[i] - step_at(kSecond, x[i])) < kNear * noise_;
      }
      first += one;
      second += other;
    }
    const auto n = static_cast<double>(samples_);
    return {{"first", first / n}, {"second", second / n}, {"samples", drawn}};
  }

  /// Densities at grid values of one target or of two, for a batch of copies of the context.
  std::vector<double> densities(const Context& context, const std::vector<double>& x,
                                const std::vector<std::vector<double>>& values) const {
    constexpr std::size_t kAtATime = 512;
    const auto points = std::ssize(x);
    std::vector<double> found;
    for (std::size_t first = 0; first < values.size(); first += kAtATime) {
      const std::size_t end = std::min(first + kAtATime, values.size());
      const auto rows = static_cast<std::int64_t>(end - first);
      const auto copies = [&](const Tensor& t) {
        Tensor many = Tensor::empty({rows, t.dim(1), 1}, DType::float32, Device::cpu);
        for (std::int64_t i = 0; i < many.numel(); ++i) many.data<float>()[i] = t.data<float>()[i % t.dim(1)];
        return many;
      };
      Tensor y = Tensor::empty({rows, points, 1}, DType::float64, Device::cpu);
      for (std::int64_t i = 0; i < y.numel(); ++i)
        y.data<double>()[i] =
            values[first + static_cast<std::size_t>(i / points)][static_cast<std::size_t>(i % points)];
      const Context many{copies(context.xc), copies(context.yc), {}};
      const Tensor joint = predict(many, copies(column(x)))->joint_log_likelihood(y.to(DType::float32));
      for (const double value : joint.values<double>()) found.push_back(std::exp(value));
    }
    return found;
  }

  /// The integral is the sum over the grid times its spacing: the density is 0 at the ends.
  json density_of_one(const Context& context) const {
    constexpr double kSpacing = 0.005, kEnd = 4;
    std::vector<std::vector<double>> grid;
    std::vector<double> y;
    for (int i = 0; i <= std::lround(2 * kEnd / kSpacing); ++i) grid.push_back({y.emplace_back(-kEnd + kSpacing * i)});
    const std::vector<double> density = densities(context, {0}, grid);
    double sum = 0, coarse = 0;
    for (std::size_t i = 0; i < density.size(); ++i) {
      sum += kSpacing * density[i];
      if (i % 2 == 0) coarse += 2 * kSpacing * density[i];
    }
    return {{"y", y}, {"density", density}, {"integral", sum}, {"integral_of_every_other", coarse}};
  }

  /// Sums midpoints of cells of 0.1, and of 0.025 near the two modes (-1, -1) and (1, 1).
  json integral_of_two(const Context& context, double end) const {
    constexpr double kCell = 0.1, kAround = 0.4;
    constexpr int kParts = 4;
    std::vector<std::vector<double>> grid;
    std::vector<double> area;
    const auto add_cells = [&](double low, double other_low, double size) {
      grid.push_back({low + size / 2, other_low + size / 2});
      area.push_back(size * size);
    };
    const auto cells = static_cast<int>(std::lround(2 * end / kCell));
    for (int i = 0; i < cells; ++i)
      for (int j = 0; j < cells; ++j) {
        const double low = kCell * i - end, other = kCell * j - end;
        const auto near_mode = [&](double mode) {
          return std::max(std::abs(low + kCell / 2 - mode), std::abs(other + kCell / 2 - mode)) < kAround;
        };
        if (!near_mode(-1) && !near_mode(1)) {
          add_cells(low, other, kCell);
          continue;
        }
        for (int k = 0; k < kParts * kParts; ++k)
          add_cells(low + kCell / kParts * (k / kParts), other + kCell / kParts * (k % kParts), kCell / kParts);
      }
    const std::vector<double> density = densities(context, {-0.25, 0.25}, grid);
    double sum = 0, near_modes = 0, above = 0, below = 0;
    for (std::size_t k = 0; k < density.size(); ++k) {
      const double part = area[k] * density[k];
      sum += part;
      if (area[k] < 0.5 * kCell * kCell) near_modes += part;
      if (grid[k][0] > 0 && grid[k][1] > 0) above += part;
      if (grid[k][0] < 0 && grid[k][1] < 0) below += part;
    }
    return {{"end", end}, {"integral", sum}, {"near_modes", near_modes}, {"mass_above", above}, {"mass_below", below}};
  }

  std::shared_ptr<Model> model_;
  std::int64_t samples_;
  double noise_ = 0;
};

int run(const TwoStepsCommand& c) {
  const AddedTaskFamily added(kTwoSteps);
  apply(c.common);
  if (c.checkpoint.empty()) {
    check(!c.protocol.empty() && !c.model.empty() && !c.out.empty(),
          "[two_steps] --checkpoint, or --protocol, --model and --out expected");
    TrainObserver quiet;
    const TrainResult result =
        train(describe_run({.protocol = c.protocol, .model = c.model, .steps = c.steps}).run, {.out = c.out}, quiet);
    fmt::print("{}\n", json{{"steps", result.steps}, {"loss", result.loss}}.dump());
    return 0;
  }
  const NoGrad off;
  Checkpoint checkpoint = load_checkpoint(c.checkpoint);
  if (c.timesteps > 0) checkpoint.run.spec.config["timesteps"] = c.timesteps;
  const Examined examined(checkpoint, c.samples);
  json found = examined.ambiguous(c.end);
  if (c.batches > 0) found["scores"] = examined.scores(*checkpoint.run.protocol.data, c.batches);
  found["model"] = checkpoint.run.spec.name;
  if (found["model"] == "flownp")
    found["timesteps"] = std::get<std::int64_t>(checkpoint.run.spec.config.at("timesteps"));
  found["updates"] = checkpoint.run.protocol.training.steps;
  fmt::print("{}\n", found.dump());
  return 0;
}

constexpr CommandInfo kCommand = command<TwoStepsCommand, add_flags, run>("Models of a mixture of two steps.");

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_program("two_steps", kCommand, argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "two_steps: error: {}\n", e.what());
    return 1;
  }
}
