#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/protocol.h"
#include "npzoo/datasets/scores.h"

namespace npzoo {

// Compares figures measured under a protocol with published ones and with the best possible ones. Whatever the metric
// of the protocol, all values here are log-likelihoods in nats per target point: more is better. docs/verdicts.md
// states the rule.

/// Results of one model with different seeds on one test.
struct SeedMean {
  double value = 0;
  double standard_error = 0;   // over the runs; of a single one that of its test tasks
  double task_error = 0;       // of the test tasks alone, the same ones for every run
  double fresh_error = 0;      // the same without a control variate: what other test tasks may change
  std::vector<double> runs{};  // the value of each seed
};

/// Mean of at least one run, each with the standard error of its test tasks.
SeedMean mean_over_seeds(std::span<const Estimate> runs);

/// Rows of one figure on one test, by model.
using PublishedRows = std::map<std::string, Published>;

/// Decimals of published figures: those of the longest one.
int printed_decimals(const PublishedRows& rows);

/// A published figure as a mean over training seeds.
struct PublishedFigure {
  double value = 0;
  /// Standard error of that mean: a printed deviation is divided by the root of the number of seeds. Empty if the
  /// source prints no ±, or the protocol does not state what it is.
  std::optional<double> seed_error{};
  std::int64_t seeds = 0;  // that the mean is over; 0: not known
  /// Standard error over the tasks that one training was tested on, if the printed ± is over these. Empty: not printed.
  std::optional<double> task_error{};
  double rounding = 0;       // standard error of rounding to the last printed place, 1/√12 of its unit
  double table_width = 1.0;  // best minus worst published row of the test; 1 nat if there is only one
};
/// In the units of `rows`.
PublishedFigure published_figure(const Spread& spread, const PublishedRows& rows, const Published& row);
/// The headline as a log-likelihood.
PublishedFigure published_figure(const EvaluationConfig& rules, const TestConfig& test, const Published& row);

/// The value that no figure of a density exceeds in expectation.
struct Ceiling {
  Estimate best;
  const char* oracle = "";             // which of the protocol's values it is, "bayes_diagonal"
  bool hyperparameters_known = false;  // so no model reaches it; stands in where they have not been integrated out
};
std::optional<Ceiling> ceiling(const Metric& metric, const OracleValues& oracle, Density density);

/// Returns the density of a model's figures: by the registry for a model of this build, else by the protocol for
/// published ones. These also tell whether a model of mixtures draws one function of each task, which is a Gaussian at
/// each target.
Density density_of(const EvaluationConfig& rules, const std::string& model);

/// The reference for a log-likelihood of this density of a model on a test. A published one of another density is not
/// comparable.
struct Reference {
  std::optional<PublishedFigure> published{};
  std::optional<Ceiling> best{};
};
/// Returns nothing for a figure without a density: a protocol's references are log-likelihoods.
Reference reference_for(const EvaluationConfig& rules, const TestConfig& test, const std::string& model,
                        std::optional<Density> density);
/// The same of the density that the model's figures have.
Reference reference_for(const EvaluationConfig& rules, const TestConfig& test, const std::string& model);

enum class Verdict : std::uint8_t {
  none,       // nothing to compare with, or the figure is not a number
  one_seed,   // one run: the noise of seeds is unknown
  collapsed,  // a seed is far below the best one
  no_spread,  // the published figure has no ±, or one of unknown meaning
  uncertain,  // the interval is too wide for a verdict
  within,     // the interval of the difference holds 0
  better,
  worse,
  above_oracle,  // above what is possible
};
/// In words, as tables print it; "" for none.
const char* to_string(Verdict verdict);

/// A verdict and what it rests on.
struct Judgement {
  Verdict verdict = Verdict::none;
  double difference = std::numeric_limits<double>::quiet_NaN();  // ours minus published
  double half_width = std::numeric_limits<double>::quiet_NaN();  // of the 95 % interval of the difference
  std::vector<std::size_t> collapsed{};                          // which runs
};

/// True if a figure is more than three standard errors above the ceiling, those of seeds or test tasks (the larger) and
/// of the oracle included.
bool above(const SeedMean& ours, const Ceiling& ceiling);

/// Compares runs with a published figure. Above the ceiling comes first: such a model sees the values that it should
/// predict. The other verdicts are tried in the order of `Verdict`. docs/verdicts.md has the rule and its reasons.
Judgement judge(const SeedMean& ours, const Reference& reference);

/// Whether a model scores more than three standard errors above the exact posterior of the very tasks that it was
/// scored on; `gap` is what it lacks on them. Throws Error naming the test where that is no number, for nothing would
/// be told of a leak.
bool beats_exact_posterior(const std::string& test, const Estimate& gap);

}  // namespace npzoo
