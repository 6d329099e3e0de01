#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "npzoo/datasets/kinds/sawtooth/source.h"
#include "npzoo/datasets/task_config.h"
#include "npzoo/datasets/toml_reader.h"

namespace npzoo {

namespace {

/// `kind = "sawtooth"`. All tests are alike.
class SawtoothConfig final : public TaskConfig {
 public:
  explicit SawtoothConfig(const SawtoothDistribution& distribution) : distribution_(distribution) {}

  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 1; }
  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    return std::make_unique<SawtoothSource>(distribution_, options);
  }
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& /*test*/) const override {
    return std::make_shared<const SawtoothConfig>(*this);
  }
  TaskExtents typical_extents() const override {
    const auto middle = [](const IntegerRange& range) { return (range.low + range.high - 1) / 2; };
    return {middle(distribution_.context), middle(distribution_.targets)};
  }
  TrainingRange training_range() const override {
    const double std = std::sqrt(1.0 / 12);  // of a uniform number from 0 to 1
    const auto [low, high] = distribution_.heights.value_or(std::pair(1.0, 1.0));
    return {.inputs = {distribution_.low, distribution_.high},
            .min_context = distribution_.context.low,
            .max_context = distribution_.context.high - 1,
            .value_std = std * std::sqrt((low * low + low * high + high * high) / 3),
            .widest_std = std * high,
            .narrowest_std = std * low};
  }

 private:
  SawtoothDistribution distribution_;
};

void read_interval(TomlReader& data, std::string_view key, KeyLine line, const NumberRule& rule, double& low,
                   double& high) {
  std::tie(low, high) = data.two_numbers(key, line, rule);
  if (low >= high) data.reject(key, fmt::format("[{}, {}]", low, high), "low < high");
}

}  // namespace

std::shared_ptr<const TaskConfig> read_sawtooth_config(TomlReader& data) {
  constexpr std::int64_t kMostTerms = 1001, kMostPoints = 100'001;
  SawtoothDistribution d;
  read_interval(data, "domain", "range of the inputs", kFinite, d.low, d.high);
  read_interval(data, "frequency", "range of frequencies, in waves per unit of the inputs", kPositive,
                d.lowest_frequency, d.highest_frequency);
  read_interval(data, "shift", "range of shifts of the waves, in units of the inputs", kFinite, d.lowest_shift,
                d.highest_shift);
  std::tie(d.terms.low, d.terms.high) = data.range("terms", "terms of the Fourier series", 1, kMostTerms);
  std::tie(d.context.low, d.context.high) = data.range("context", "number of context points", 0, kMostPoints);
  std::tie(d.targets.low, d.targets.high) = data.range("target_count", "number of targets", 1, kMostPoints);
  if (data.has("heights")) {
    auto& [low, high] = d.heights.emplace();
    read_interval(data, "heights", "range of the heights of waves around 0 (default: waves from 0 to 1)", kPositive,
                  low, high);
  }
  return std::make_shared<const SawtoothConfig>(d);
}

}  // namespace npzoo
