#include "npzoo/models/trials/score_test.h"

#include <fmt/format.h>

#include <cmath>

#include "npzoo/engine/boundary.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"

namespace npzoo {

namespace {

/// Standard errors of fewer batches are guesses, which must not accuse anybody.
constexpr std::int64_t kBatchesOfProof = 100;

bool chose_weights(const ScoredModel& scored, const TestConfig& test) {
  const Protocol& trained = scored.run.protocol;
  return trained.training.keep_best && test.data->tested_on_validation() && same_data(trained, scored.protocol);
}

void check_dimensions(const ScoredModel& scored, const TaskConfig& data) {
  check(data.dim_x() == scored.model.dim_x(), "[eval] {} has {} inputs per point, the model of {} takes {}",
        scored.protocol.name, data.dim_x(), scored.name, scored.model.dim_x());
  check(data.dim_y() == scored.model.dim_y(), "[eval] {} has {} values per point, the model of {} predicts {}",
        scored.protocol.name, data.dim_y(), scored.name, scored.model.dim_y());
}

std::string above_the_possible(const ScoredModel& scored, const TestConfig& test, const TestScores& scores) {
  for (const Figure& figure : scores.found.figures) {
    if (figure.how.empty()) continue;  // the truth's own
    const auto& [value, error] = figure.value;
    const std::optional<Ceiling> best =
        reference_for(scored.protocol.evaluation, test, scored.run.spec.name, figure.density).best;
    if (best && above({.value = value, .standard_error = error, .task_error = error}, *best))
      return fmt::format("{}: {} {:.3f} ± {:.3f} is above its oracle, {:.3f}", test.name, figure.words(), value, error,
                         best->best.value);
  }
  if (scores.found.lacking && beats_exact_posterior(test.name, *scores.found.lacking))
    return fmt::format("{}: {} is {:.3f} ± {:.3f} above that of the exact posterior", test.name,
                       scores.found.headline().words(), -scores.found.lacking->value,
                       scores.found.lacking->standard_error);
  return "";
}

TestScores score(const ScoredModel& scored, const TestConfig& test, const ScoreOptions& options) {
  check_dimensions(scored, *test.data);
  const EvaluationConfig& rules = scored.protocol.evaluation;
  const ModelSpec& spec = scored.run.spec;
  const SourceOptions tasks{
      .batch_size = rules.batch_size, .seed = options.seed, .split = Split::evaluation, .device = default_device()};
  TestScores scores;
  scores.batches = batches_of(*test.data->source(tasks), options.batches);
  const auto progress = [&](double done) {
    if (options.progress) options.progress(done, scores.batches);
  };
  progress(0);
  const NumericalEventScope events;
  scores.found = find_trial(rules.trial)
                     .run(scored.model, *test.data,
                          {.tasks = tasks,
                           .batches = scores.batches,
                           .density = density_of(rules, spec.name),
                           .rules = rules.rules,
                           .untrained = [&] { return make_model(spec, {.seed = scored.run.seed}); },
                           .progress = progress,
                           .job = options.job});
  scores.events = events.count();
  const Figure& headline = scores.found.headline();
  check(std::isfinite(headline.value.value), "[eval] {}: the {} on {} is {}, expected a finite number", scored.name,
        headline.words(), test.name, headline.value.value);
  scores.against = reference_for(rules, test, spec.name, headline.density);
  scores.chose_weights = chose_weights(scored, test);
  if (!scores.found.lacking || !headline.density) return scores;
  const FoundExpectation expectation = find_expectation(options.expectations, scored.protocol, test);
  scores.controlled = controlled_figure(expectation.stored, *headline.density, *scores.found.lacking);
  scores.unused_expectation = expectation.problem;
  return scores;
}

}  // namespace

std::optional<Controlled> controlled_figure(const StoredExpectation* stored, Density density, const Estimate& lacking) {
  if (!stored || !std::isfinite(lacking.value) || !std::isfinite(lacking.standard_error)) return {};
  const std::optional<Estimate>& expectation = stored->expectation.of(density);
  if (!expectation) return {};
  return Controlled{
      {expectation->value - lacking.value, std::hypot(expectation->standard_error, lacking.standard_error)},
      *expectation,
      stored->expectation.tasks};
}

TestScores score_test(const ScoredModel& scored, const TestConfig& test, const ScoreOptions& options) {
  return with_errors([&] {
    const StopScope scope(options.stop);
    return score(scored, test, options);
  });
}

std::string leak(const ScoredModel& scored, const TestConfig& test, const TestScores& scores) {
  std::string message = above_the_possible(scored, test, scores);
  return scores.batches < kBatchesOfProof ? "" : message;
}

}  // namespace npzoo
