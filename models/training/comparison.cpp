#include "models/training/comparison.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"

namespace npzoo {

namespace {

/// Of oracles that do not state theirs.
constexpr double kOracleError = 0.004;
constexpr double kErrorsOfAMatch = 2;
constexpr double kErrorsOfALeak = 3;

int decimals_of(double value) {
  constexpr int kMost = 6;
  for (int decimals = 0; decimals < kMost; ++decimals) {
    const double shifted = value * std::pow(10, decimals);
    if (std::abs(shifted - std::round(shifted)) < 1e-6) return decimals;
  }
  return kMost;
}

double known_or_zero(double error) { return std::isnan(error) ? 0 : error; }

}  // namespace

SeedMean mean_over_seeds(std::span<const Estimate> runs) {
  check(!runs.empty(), "[comparison] no run given, expected 1 or more");
  const auto n = static_cast<double>(runs.size());
  SeedMean mean;
  for (const Estimate& run : runs) {
    mean.value += run.value / n;
    mean.task_error += run.standard_error / n;
  }
  mean.standard_error = mean.task_error;
  if (runs.size() == 1) return mean;
  double squares = 0;
  for (const Estimate& run : runs) squares += (run.value - mean.value) * (run.value - mean.value);
  mean.standard_error = std::sqrt(squares / (n - 1) / n);
  return mean;
}

int printed_decimals(const TestConfig& test) {
  int decimals = 0;
  for (const auto& [model, row] : test.published)
    decimals = std::max({decimals, decimals_of(row.value), decimals_of(row.error.value_or(0))});
  return decimals;
}

Estimate published_estimate(Metric metric, const TestConfig& test, const Published& row) {
  const double rounding = 0.5 * std::pow(10, -printed_decimals(test));
  return {to_log_likelihood(metric, row.value), std::max(row.error.value_or(0), rounding)};
}

std::optional<Ceiling> ceiling(Metric metric, const OracleValues& oracle) {
  const std::optional<double>& value = oracle.bayes_diagonal ? oracle.bayes_diagonal : oracle.known_marginal;
  if (!value) return {};
  return Ceiling{{to_log_likelihood(metric, *value), oracle.standard_error.value_or(kOracleError)},
                 !oracle.bayes_diagonal};
}

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::none: return "";
    case Verdict::within_error: return "within 2 s.e.";
    case Verdict::better: return "better";
    case Verdict::worse: return "worse";
    case Verdict::above_oracle: return "above the oracle: leak";
  }
  return "";
}

Verdict judge(const SeedMean& ours, const std::optional<Estimate>& published, const std::optional<Ceiling>& ceiling) {
  if (std::isnan(ours.value)) return Verdict::none;
  if (ceiling) {
    const double seeds = known_or_zero(ours.standard_error), tasks = known_or_zero(ours.task_error);
    const double error = std::hypot(std::max(seeds, tasks), ceiling->best.standard_error);
    if (ours.value - ceiling->best.value > kErrorsOfALeak * error) return Verdict::above_oracle;
  }
  if (!published) return Verdict::none;
  const double difference = ours.value - published->value;
  const double error = std::hypot(known_or_zero(ours.standard_error), published->standard_error);
  if (std::abs(difference) <= kErrorsOfAMatch * error) return Verdict::within_error;
  return difference > 0 ? Verdict::better : Verdict::worse;
}

}  // namespace npzoo
