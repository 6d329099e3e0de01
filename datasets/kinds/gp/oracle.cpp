#include "npzoo/datasets/kinds/gp/oracle.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"

namespace npzoo {

namespace {

double sum_of(std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

/// Calls `work(first, count)` for consecutive batches, `together` at a time.
template <class Work>
void in_rounds(std::int64_t batches, std::int64_t together, const BatchProgress& progress, const Work& work) {
  for (std::int64_t first = 0; first < batches; first += together) {
    const std::int64_t count = std::min(together, batches - first);
    work(first, count);
    if (progress) progress(first + count);
  }
}

/// Scores of one task, per target point.
struct TaskScores {
  double diagonal = 0, mixture = 0, joint = 0;
};
double TaskScores::*const kFigures[] = {&TaskScores::diagonal, &TaskScores::mixture, &TaskScores::joint};

TaskScores score(const BayesPredictions& predictions, std::span<const double> yt) {
  const auto& [mean, variance] = predictions.diagonal;
  TaskScores scores{.joint = predictions.joint_log_likelihood.value_or(0)};
  for (std::size_t t = 0; t < yt.size(); ++t) {
    scores.diagonal += log_normal_density(yt[t], mean[t], variance[t]);
    scores.mixture += predictions.log_likelihood[t];
  }
  for (const auto figure : kFigures) scores.*figure /= static_cast<double>(yt.size());
  return scores;
}

/// The first task of a batch, in double.
struct ScoredTask {
  GpBatch batch;
  BayesPredictions predictions;
  TaskScores scores, finer;
  double known_marginal = 0, known_joint = 0;

  ScoredTask(const GpSampler& sampler, std::int64_t index, const BayesOptions& options, bool check_quadrature)
      : batch(sampler.draw(static_cast<std::uint64_t>(index))) {
    batch.task = in_double(batch.task);
    const GpRow task(batch.task, 0);
    const GpTruth& truth = batch.truth;
    const auto nt = static_cast<double>(task.yt.size());
    const auto predict = [&](const BayesOptions& o) {
      return BayesPosterior(sampler.distribution(), task.xc, task.yc, o, truth.kernels()[0]).predict(task.xt, task.yt);
    };
    predictions = predict(options);
    scores = score(predictions, task.yt);
    finer = check_quadrature ? score(predict(options.finer()), task.yt) : scores;
    const GpPosterior known = truth.posterior(task, 0);
    known_marginal = sum_of(known.log_likelihood(task.xt, task.yt, truth.target_noise())) / nt;
    if (truth.target_noise() > 0) known_joint = known.joint_log_likelihood(task.xt, task.yt, truth.target_noise()) / nt;
  }
};

void append(const ScoredTask& task, BayesScores& to) {
  to.diagonal.push_back(task.scores.diagonal);
  to.mixture.push_back(task.scores.mixture);
  to.known.marginal.push_back(task.known_marginal);
  if (task.batch.truth.target_noise() > 0) {
    to.joint.push_back(task.scores.joint);
    to.known.joint.push_back(task.known_joint);
  }
  const auto& [mean, variance] = task.predictions.diagonal;
  const auto yt = GpRow(task.batch.task, 0).yt;
  for (std::size_t t = 0; t < yt.size(); ++t) to.fit.add(mean[t], std::sqrt(variance[t]), yt[t]);
}

double variance(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = sum_of(values) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / (n - 1);
}

/// Mean of `known` less what is lost on average: `same` are the known scores that `scores` would be without the loss.
Estimate with_control(std::span<const double> known, std::span<const double> same, std::span<const double> scores) {
  check(!scores.empty() && scores.size() <= known.size(),
        "[oracle] {} batches with known kernels and {} without found, expected at least one without, and no more "
        "without than with",
        known.size(), scores.size());
  const auto m = static_cast<double>(known.size()), n = static_cast<double>(scores.size());
  std::vector<double> terms;  // of the sum that the estimate is, one a batch
  for (std::size_t i = 0; i < scores.size(); ++i) terms.push_back(known[i] / m - (same[i] - scores[i]) / n);
  Estimate estimate;
  estimate.value = sum_of(terms) + sum_of(known.subspan(scores.size())) / m;
  estimate.standard_error = std::sqrt(n * variance(terms) + (m - n) * variance(known) / (m * m));
  return estimate;
}

Estimate mean_of(std::span<const double> values) { return with_control(values, values, values); }

}  // namespace

OracleFindings gp_oracle(const GpDistribution& distribution, const OracleOptions& options) {
  constexpr std::int64_t kKnownForEach = 6;
  constexpr double kConverged = 0.005;  // nats per target point
  const GpSampler sampler(
      distribution,
      {.batch_size = options.batch_size, .seed = options.seed, .split = Split::evaluation, .dtype = DType::float64});
  const auto progress = [&options](const char* stage, std::int64_t of) -> BatchProgress {
    if (!options.progress) return {};
    options.progress(stage, 0, of);
    return [&options, stage, of](std::int64_t done) { options.progress(stage, done, of); };
  };
  const std::int64_t known_batches = kKnownForEach * options.tasks;
  const KnownScores known = known_scores(sampler, known_batches, progress("known", known_batches));
  const BayesScores bayes =
      bayes_scores(sampler, options.tasks, {.nodes = options.nodes}, progress("oracle", options.tasks));
  const OracleEstimates e = estimate_oracles(known, bayes);
  return {.figures = {{"known_marginal", "known, marginal", &OracleValues::known_marginal, e.known_marginal},
                      {"bayes_diagonal", "Bayes, diagonal", &OracleValues::bayes_diagonal, e.bayes_diagonal, bayes.fit},
                      {"bayes_mixture", "Bayes, mixture", &OracleValues::bayes_mixture, e.bayes_mixture},
                      {"known_joint", "known, joint", &OracleValues::known_joint, e.known_joint},
                      {"bayes_joint", "Bayes, joint", &OracleValues::bayes_joint, e.bayes_joint}},
          .tasks = options.tasks,
          .known_tasks = known_batches * options.batch_size,
          .integration = OracleFindings::Integration{.error = bayes.quadrature_error,
                                                     .converged = bayes.quadrature_error <= kConverged}};
}

KnownScores known_scores(const GpSampler& sampler, std::int64_t batches, const BatchProgress& progress) {
  constexpr std::int64_t kTogether = 64;
  const bool joint = sampler.distribution().target_noise > 0;
  KnownScores scores{std::vector<double>(batches), std::vector<double>(joint ? batches : 0)};
  in_rounds(batches, kTogether, progress, [&](std::int64_t first, std::int64_t count) {
    thread_pool().for_range(count, 1, [&](std::int64_t i, std::int64_t) {
      const GpBatch batch = sampler.draw(static_cast<std::uint64_t>(first + i));
      scores.marginal[first + i] = *mean_log_likelihood(batch.truth, batch.task, Density::marginal);
      if (joint) scores.joint[first + i] = *mean_log_likelihood(batch.truth, batch.task, Density::joint);
    });
  });
  return scores;
}

BayesScores bayes_scores(const GpSampler& sampler, std::int64_t batches, const BayesOptions& options,
                         const BatchProgress& progress) {
  constexpr std::int64_t kTogether = 32, kCheckEvery = 16;
  BayesScores scores;
  TaskScores changes;
  in_rounds(batches, kTogether, progress, [&](std::int64_t first, std::int64_t count) {
    std::vector<std::optional<ScoredTask>> scored(count);
    thread_pool().for_range(count, 1, [&](std::int64_t i, std::int64_t) {
      scored[i].emplace(sampler, first + i, options, (first + i) % kCheckEvery == 0);
    });
    for (const auto& task : scored) {
      append(*task, scores);
      for (const auto figure : kFigures) changes.*figure += std::abs(task->finer.*figure - task->scores.*figure);
    }
  });
  const auto checked = static_cast<double>((batches + kCheckEvery - 1) / kCheckEvery);
  for (const auto figure : kFigures)
    scores.quadrature_error = std::max(scores.quadrature_error, changes.*figure / checked);
  return scores;
}

OracleEstimates estimate_oracles(const KnownScores& known, const BayesScores& bayes) {
  OracleEstimates estimates;
  estimates.known_marginal = mean_of(known.marginal);
  estimates.bayes_diagonal = with_control(known.marginal, bayes.known.marginal, bayes.diagonal);
  estimates.bayes_mixture = with_control(known.marginal, bayes.known.marginal, bayes.mixture);
  if (!known.joint.empty()) {
    estimates.known_joint = mean_of(known.joint);
    estimates.bayes_joint = with_control(known.joint, bayes.known.joint, bayes.joint);
  }
  return estimates;
}

}  // namespace npzoo
