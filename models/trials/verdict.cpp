#include "npzoo/models/trials/verdict.h"

#include <algorithm>
#include <cmath>

#include "npzoo/engine/error.h"
#include "npzoo/models/registry.h"

namespace npzoo {

namespace {

/// Standard error of oracles that do not state one.
constexpr double kOracleError = 0.004;
constexpr double kErrorsOfALeak = 3;
constexpr double kNormalQuantile = 1.959964;  // two-sided 95 %

// Shares of the width of a published table, see docs/verdicts.md.
constexpr double kWidestHalfInterval = 0.1;
constexpr double kCollapse = 0.25;
constexpr double kErrorsOfACollapse = 10;

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

/// Returns half of the 95 % interval of ours minus published. Noise of seeds has few degrees of freedom, hence
/// Student's quantile of the smaller number (the conservative form of Welch's test). Noise of test tasks comes from
/// thousands of tasks: ours, and that of the published figure, which is taken to be as large as ours without a control
/// variate if it is not printed.
double half_width(const SeedMean& ours, const PublishedFigure& published) {
  std::int64_t degrees = 0;
  double seeds = 0;
  const auto add = [&](double error, std::int64_t runs) {
    if (runs < 2) return;
    degrees = degrees == 0 ? runs - 1 : std::min(degrees, runs - 1);
    seeds = std::hypot(seeds, known_or_zero(error));
  };
  add(ours.standard_error, static_cast<std::int64_t>(ours.runs.size()));
  if (published.seed_error) add(*published.seed_error, published.seeds);
  const double tasks = known_or_zero(ours.task_error),
               theirs = published.task_error.value_or(known_or_zero(ours.fresh_error));
  const double student = degrees == 0 ? 0 : student_quantile(degrees);
  return std::hypot(student * seeds, kNormalQuantile * std::hypot(tasks, theirs, published.rounding));
}

/// Runs that are much further below the best one than seeds of this model or test tasks can explain.
std::vector<std::size_t> collapsed_runs(const SeedMean& ours, const PublishedFigure& published) {
  std::vector<std::size_t> found;
  if (ours.runs.size() < 2) return found;
  const double best = std::ranges::max(ours.runs);
  const double deviation = published.seed_error.value_or(0) * std::sqrt(static_cast<double>(published.seeds));
  const double far = std::max({kCollapse * published.table_width, kErrorsOfACollapse * deviation,
                               kErrorsOfACollapse * known_or_zero(ours.fresh_error)});
  for (std::size_t i = 0; i < ours.runs.size(); ++i)
    if (best - ours.runs[i] > far) found.push_back(i);
  return found;
}

Verdict compared(const SeedMean& ours, const PublishedFigure& published, const Judgement& judgement) {
  if (ours.runs.size() < 2) return Verdict::one_seed;
  if (!judgement.collapsed.empty()) return Verdict::collapsed;
  if (!published.seed_error) return Verdict::no_spread;
  if (judgement.half_width > kWidestHalfInterval * published.table_width) return Verdict::uncertain;
  if (std::abs(judgement.difference) <= judgement.half_width) return Verdict::within;
  return judgement.difference > 0 ? Verdict::better : Verdict::worse;
}

}  // namespace

SeedMean mean_over_seeds(std::span<const Estimate> runs) {
  check(!runs.empty(), "[comparison] no run given, expected 1 or more");
  const auto n = static_cast<double>(runs.size());
  SeedMean mean;
  for (const Estimate& run : runs) {
    mean.value += run.value / n;
    mean.task_error += run.standard_error / n;
    mean.runs.push_back(run.value);
  }
  mean.standard_error = mean.fresh_error = mean.task_error;
  if (runs.size() == 1) return mean;
  double squares = 0;
  for (const Estimate& run : runs) squares += (run.value - mean.value) * (run.value - mean.value);
  mean.standard_error = std::sqrt(squares / (n - 1) / n);
  return mean;
}

int printed_decimals(const PublishedRows& rows) {
  int decimals = 0;
  for (const auto& [model, row] : rows)
    decimals = std::max({decimals, decimals_of(row.value), decimals_of(row.error.value_or(0))});
  return decimals;
}

PublishedFigure published_figure(const Spread& spread, const PublishedRows& rows, const Published& row) {
  PublishedFigure figure{.value = row.value};
  figure.rounding = std::pow(10, -printed_decimals(rows)) / std::sqrt(12.0);
  if (const std::int64_t count = spread.seeds + spread.tasks; row.error && count > 0) {
    const double of_mean =
        spread.kind == SpreadKind::deviation ? *row.error / std::sqrt(static_cast<double>(count)) : *row.error;
    (spread.seeds > 0 ? figure.seed_error : figure.task_error) = of_mean;
    figure.seeds = spread.seeds;
  }
  const auto by_value = [](const auto& a, const auto& b) { return a.second.value < b.second.value; };
  if (rows.size() > 1) {
    const auto [low, high] = std::ranges::minmax_element(rows, by_value);
    figure.table_width = high->second.value - low->second.value;
  }
  return figure;
}

PublishedFigure published_figure(const EvaluationConfig& rules, const TestConfig& test, const Published& row) {
  const Metric& metric = rules.metric;
  PublishedFigure figure = published_figure(rules.spread, test.published, row);
  figure.value = to_log_likelihood(metric, figure.value);
  figure.rounding = error_of_log_likelihood(metric, figure.rounding);
  if (test.published.size() > 1) figure.table_width = error_of_log_likelihood(metric, figure.table_width);
  for (std::optional<double>* error : {&figure.seed_error, &figure.task_error})
    if (*error) **error = error_of_log_likelihood(metric, **error);
  return figure;
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
    reference.published = published_figure(rules, test, row->second);
  return reference;
}

Reference reference_for(const EvaluationConfig& rules, const TestConfig& test, const std::string& model) {
  return reference_for(rules, test, model, density_of(rules, model));
}

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::none: return "";
    case Verdict::one_seed: return "one seed: not judged for seeds";
    case Verdict::no_spread: return "published without spread: not judged for seeds";
    case Verdict::collapsed: return "collapsed";
    case Verdict::uncertain: return "too uncertain to tell";
    case Verdict::within: return "within";
    case Verdict::better: return "better";
    case Verdict::worse: return "worse";
    case Verdict::above_oracle: return "above the oracle: leak";
  }
  return "";
}

bool above(const SeedMean& ours, const Ceiling& ceiling) {
  const double seeds = known_or_zero(ours.standard_error), tasks = known_or_zero(ours.task_error);
  const double error = std::hypot(std::max(seeds, tasks), ceiling.best.standard_error);
  return ours.value - ceiling.best.value > kErrorsOfALeak * error;
}

Judgement judge(const SeedMean& ours, const Reference& reference) {
  const auto& [published, ceiling] = reference;
  Judgement judgement;
  if (published) {
    judgement.difference = ours.value - published->value;
    judgement.half_width = half_width(ours, *published);
    judgement.collapsed = collapsed_runs(ours, *published);
  }
  judgement.verdict = std::isnan(ours.value)             ? Verdict::none
                      : ceiling && above(ours, *ceiling) ? Verdict::above_oracle
                      : !published                       ? Verdict::none
                                                         : compared(ours, *published, judgement);
  return judgement;
}

bool beats_exact_posterior(const std::string& test, const Estimate& gap) {
  check(!std::isnan(gap.value), "[comparison] {}: the distance from the exact posterior is {}, expected a number", test,
        gap.value);
  return gap.value < -kErrorsOfALeak * gap.standard_error;
}

}  // namespace npzoo
