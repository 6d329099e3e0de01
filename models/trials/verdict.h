#pragma once

#include <optional>
#include <span>

#include "datasets/protocol.h"
#include "datasets/scores.h"

namespace npzoo {

// Figures got under a protocol beside published ones and beside what is possible. Whatever the metric of the protocol,
// all are log-likelihoods in nats per target point here: more is better.

/// What runs of one model with different seeds reached on one test.
struct SeedMean {
  double value = 0;
  double standard_error = 0;  // over the runs; of a single one that of its test tasks
  double task_error = 0;      // of the test tasks alone, the same ones for every run
};

/// Mean of at least one run, each with the standard error of its test tasks.
SeedMean mean_over_seeds(std::span<const Estimate> runs);

/// Decimals that the published figures of a test were printed with: those that the longest of them needs.
int printed_decimals(const TestConfig& test);

/// A published figure. Its standard error is at least half a unit of the last printed place: ".00" is not zero.
Estimate published_estimate(const Metric& metric, const TestConfig& test, const Published& row);

/// What no figure of a density exceeds in expectation.
struct Ceiling {
  Estimate best;
  const char* oracle = "";             // which of the protocol's values it is, "bayes_diagonal"
  bool hyperparameters_known = false;  // so no model reaches it; stands in where they have not been integrated out
};
std::optional<Ceiling> ceiling(const Metric& metric, const OracleValues& oracle, Density density);

/// What the figures of a model are: as the registry says, for a model of this build, else as the protocol says of the
/// published ones. These also tell whether a model of mixtures draws one function of each task, which is a Gaussian at
/// each target.
Density density_of(const EvaluationConfig& rules, const std::string& model);

/// What a log-likelihood of this density of a model on a test is held against. A published one of another density is
/// not comparable.
struct Reference {
  std::optional<Estimate> published{};
  std::optional<Ceiling> best{};
};
/// Nothing for a figure without a density: what a protocol tells are log-likelihoods.
Reference reference_for(const EvaluationConfig& rules, const TestConfig& test, const std::string& model,
                        std::optional<Density> density);
/// The same of the density that the model's figures have.
Reference reference_for(const EvaluationConfig& rules, const TestConfig& test, const std::string& model);

enum class Verdict : std::uint8_t { none, within_error, better, worse, above_oracle };
/// "within 2 s.e.", "better", "worse", "above the oracle: leak"; "" for none.
const char* to_string(Verdict verdict);

/// More than three standard errors above the ceiling, those of the test tasks and of the oracle included, comes before
/// all else: such a model has seen what it is to predict. Else the published figure is matched within two standard
/// errors of the difference, or not. None where there is nothing to compare with, or the figure is not finite.
Verdict judge(const SeedMean& ours, const Reference& reference);

/// Whether a model scores more than three standard errors above the exact posterior of the very tasks that it was
/// scored on; `gap` is what it lacks on them. Throws Error naming the test where that is no number, for nothing would
/// be told of a leak.
bool beats_exact_posterior(const std::string& test, const Estimate& gap);

}  // namespace npzoo
