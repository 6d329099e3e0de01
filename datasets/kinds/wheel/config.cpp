#include <cmath>

#include "npzoo/datasets/kinds/wheel/source.h"
#include "npzoo/datasets/task_config.h"
#include "npzoo/datasets/toml_reader.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostWheelPoints = 100'000;

/// `kind = "wheel"`.
class WheelConfig final : public TaskConfig {
 public:
  explicit WheelConfig(const WheelDistribution& distribution) : distribution_(distribution) {}

  std::int64_t dim_x() const override { return 2; }
  std::int64_t dim_y() const override { return wheel::kArms; }
  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    return std::make_unique<WheelSource>(distribution_, options);
  }
  /// A test may have a δ of its own, and other numbers of points.
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& test) const override {
    WheelDistribution d = distribution_;
    if (test.has("delta")) d.delta = read_delta(test);
    if (test.has("context")) d.context = test.integer("context", "number of context points", 0, kMostWheelPoints);
    if (test.has("targets")) d.targets = test.integer("targets", "number of targets", 1, kMostWheelPoints);
    check_points(test, d);
    return std::make_shared<const WheelConfig>(d);
  }
  TaskExtents typical_extents() const override { return {distribution_.context, distribution_.targets}; }
  TrainingRange training_range() const override {
    const auto of_large = [](double share) { return wheel::kLarge * std::sqrt(share * (1 - share)); };
    return {.inputs = {-1, 1},
            .min_context = distribution_.context,
            .max_context = distribution_.context,
            .value_std = of_large(1. / 6),  // of an arm in the mean over uniform δ
            .target_noise = wheel::kLargeStd,
            .widest_std = of_large(1. / 4),
            .narrowest_std = wheel::kStd,
            .context_noise = wheel::kLargeStd};
  }

  static double read_delta(TomlReader& reader) {
    return reader.number("delta", "radius of the inner disc: larger is harder (default: drawn for each problem)",
                         kBelowOne);
  }
  static void check_points(const TomlReader& reader, const WheelDistribution& d) {
    // Fewer than three have the authors' draw none at a time.
    if (d.context + d.targets < 3) reader.reject("targets", std::to_string(d.targets), "at least 3 points in all");
  }

 private:
  WheelDistribution distribution_;
};

}  // namespace

std::shared_ptr<const TaskConfig> read_wheel_config(TomlReader& data) {
  WheelDistribution d;
  if (data.choice("problems", "sampled as the authors' code does it, or all independent", {"authors", "fresh"}) ==
      "authors")
    d.problems = WheelDistribution::Problems::authors;
  if (data.has("delta")) d.delta = WheelConfig::read_delta(data);
  d.context = data.integer("context", "number of context points", 0, kMostWheelPoints);
  d.targets = data.integer("targets", "number of targets", 1, kMostWheelPoints);
  WheelConfig::check_points(data, d);
  return std::make_shared<const WheelConfig>(d);
}

}  // namespace npzoo
