#include "models/trials/verdict.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "models/registry.h"

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

Density published_density(const EvaluationConfig& rules, const std::string& model) {
  const auto found = rules.densities.find(model);
  return found != rules.densities.end() ? found->second : Density::marginal;
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

Estimate published_estimate(const Metric& metric, const TestConfig& test, const Published& row) {
  const double rounding = 0.5 * std::pow(10, -printed_decimals(test));
  return {to_log_likelihood(metric, row.value),
          error_of_log_likelihood(metric, std::max(row.error.value_or(0), rounding))};
}

std::optional<Ceiling> ceiling(const Metric& metric, const OracleValues& oracle, Density density) {
  struct Candidate {
    const char* name;
    const std::optional<double>& value;
  };
  const auto first_of = [&](const Candidate& bayes, const Candidate& known) -> std::optional<Ceiling> {
    const auto& [name, value] = bayes.value ? bayes : known;
    if (!value) return {};
    return Ceiling{{to_log_likelihood(metric, *value),
                    error_of_log_likelihood(metric, oracle.standard_error.value_or(kOracleError))},
                   name,
                   /*hyperparameters_known=*/!bayes.value};
  };
  // The marginals of a Gaussian process whose hyper-parameters are known are Gaussian: no mixture is better than them.
  const Candidate known_marginal{"known_marginal", oracle.known_marginal};
  switch (density) {
    case Density::marginal: return first_of({"bayes_diagonal", oracle.bayes_diagonal}, known_marginal);
    case Density::mixture: return first_of({"bayes_mixture", oracle.bayes_mixture}, known_marginal);
    case Density::joint: break;
  }
  return first_of({"bayes_joint", oracle.bayes_joint}, {"known_joint", oracle.known_joint});
}

Density density_of(const EvaluationConfig& rules, const std::string& model) {
  const auto known = std::ranges::find(models(), model, &ModelInfo::name);
  if (known == models().end()) return published_density(rules, model);
  const bool published = std::ranges::any_of(rules.tests, [&](const auto& t) { return t.published.contains(model); });
  return known->density == Density::mixture && published ? published_density(rules, model) : known->density;
}

Reference reference_for(const EvaluationConfig& rules, const TestConfig& test, const std::string& model,
                        std::optional<Density> density) {
  if (!density) return {};
  Reference reference{.published = {}, .best = ceiling(rules.metric, test.oracle, *density)};
  const auto row = test.published.find(model);
  if (row != test.published.end() && published_density(rules, model) == density)
    reference.published = published_estimate(rules.metric, test, row->second);
  return reference;
}

Reference reference_for(const EvaluationConfig& rules, const TestConfig& test, const std::string& model) {
  return reference_for(rules, test, model, density_of(rules, model));
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

Verdict judge(const SeedMean& ours, const Reference& reference) {
  const auto& [published, ceiling] = reference;
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

bool beats_exact_posterior(const std::string& test, const Estimate& gap) {
  check(!std::isnan(gap.value), "[comparison] {}: what the model lacks of the exact posterior is {}, expected a number",
        test, gap.value);
  return gap.value < -kErrorsOfALeak * gap.standard_error;
}

}  // namespace npzoo
