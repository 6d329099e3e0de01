#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "npzoo/datasets/expectation.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/models/numerical_events.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/models/trials/trial.h"
#include "npzoo/models/trials/verdict.h"

namespace npzoo {

/// A trained model and the protocol that it is scored under.
struct ScoredModel {
  const Model& model;
  const TrainingRun& run;  // that trained it
  const Protocol& protocol;
  std::string name;  // opens messages: the file or the name of its weights
};

struct ScoreOptions {
  std::int64_t batches = 0;  // at most; fewer if the test has fewer
  std::uint64_t seed = 0;    // of the test tasks
  /// Called with the number of batches that are done and how many there are; first with none done. May throw to stop.
  std::function<void(double done, std::int64_t batches)> progress{};
  std::stop_token stop{};  // a request stops the scoring, which throws Interrupted
  std::span<const StoredExpectation> expectations = built_in_expectations();  // of exact posteriors, see `Controlled`
  Job* job = nullptr;  // ranks that score together: all get the scores of one process, to the bit
};

/// The headline by another way, which removes most of the noise of the test tasks: the expectation of the exact
/// posterior minus the distance of the model from it on these tasks.
struct Controlled {
  Estimate value;
  Estimate expectation;    // of the posterior
  std::int64_t tasks = 0;  // that it is the mean of
};
std::optional<Controlled> controlled_figure(const StoredExpectation* stored, Density density, const Estimate& lacking);

/// Scores of a model on a test, and the values to compare them with.
struct TestScores {
  Findings found;
  std::int64_t batches = 0;
  NumericalEvents events{};
  Reference against;
  std::optional<Controlled> controlled{};  // of a log-likelihood, where the expectation of the posterior is stored
  std::string unused_expectation{};        // why a stored expectation is not used
  bool chose_weights = false;  // training kept the weights of its best validation, which was on the data of this test
};

/// Scores the model by the trial of the protocol. Throws Error if the model has other dimensions than the tasks, or if
/// the headline is not finite.
TestScores score_test(const ScoredModel& scored, const TestConfig& test, const ScoreOptions& options);

/// A message if the scores are above what is possible: the model has seen the answers, or something leaks them. Empty
/// for an honest model, and if there are so few batches that the standard errors are guesses.
std::string leak(const ScoredModel& scored, const TestConfig& test, const TestScores& scores);

}  // namespace npzoo
