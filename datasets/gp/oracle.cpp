#include "datasets/gp/oracle.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/error.h"
#include "engine/parallel.h"

namespace npzoo {

namespace {

/// On the CPU.
GpBatch in_double(const GpBatch& batch) {
  GpBatch result = batch;
  for (Tensor Task::*part : {&Task::xc, &Task::yc, &Task::xt, &Task::yt})
    result.task.*part = (batch.task.*part).to(Device::cpu).to(DType::float64);
  return result;
}

/// The leading `count` points of one row of a (B, N, D) tensor of doubles.
Points row_of(const Tensor& t, std::int64_t row, std::int64_t count) {
  const std::int64_t n = t.dim(1), dims = t.dim(2);
  return {t.values<double>().subspan(row * n * dims, count * dims), dims};
}

/// One task of a batch in double.
struct Row {
  Points xc;
  std::span<const double> yc;
  Points xt;
  std::span<const double> yt;

  Row(const Task& task, std::int64_t row) {
    const std::int64_t nc = task.lengths.defined() ? task.lengths.values<std::int64_t>()[row] : task.xc.dim(1);
    const std::int64_t nt = task.xt.dim(1);
    xc = row_of(task.xc, row, nc);
    yc = row_of(task.yc, row, nc).values;
    xt = row_of(task.xt, row, nt);
    yt = row_of(task.yt, row, nt).values;
  }
};

GpPosterior posterior_in_double(const GpBatch& batch, std::int64_t row) {
  const Row task(batch.task, row);
  return GpPosterior(batch.kernels[row], task.xc, task.yc, batch.context_noise);
}

/// Mean over rows and points of what `score(posterior, task)` sums up.
template <class Score>
double mean_score(const GpBatch& batch, const Score& score) {
  const GpBatch exact = in_double(batch);
  double sum = 0;
  for (std::int64_t b = 0; b < exact.task.xt.dim(0); ++b)
    sum += score(posterior_in_double(exact, b), Row(exact.task, b));
  return sum / static_cast<double>(exact.task.yt.numel());
}

/// Calls `work(first, count)` for consecutive batches, `together` at a time.
template <class Work>
void in_rounds(std::int64_t batches, std::int64_t together, const BatchProgress& progress, const Work& work) {
  for (std::int64_t first = 0; first < batches; first += together) {
    const std::int64_t count = std::min(together, batches - first);
    work(first, count);
    if (progress) progress(first + count);
  }
}

/// Per target point of one task.
struct BayesRow {
  double diagonal = 0, mixture = 0, joint = 0;
  GpMarginals predicted;
};

BayesRow score_row(const GpDistribution& distribution, const GpBatch& batch, std::int64_t row,
                   const BayesOptions& options) {
  const Row task(batch.task, row);
  const BayesPosterior posterior(distribution, task.xc, task.yc, options, batch.kernels[row]);
  BayesPredictions p = posterior.predict(task.xt, task.yt);
  BayesRow result;
  for (std::size_t t = 0; t < task.yt.size(); ++t) {
    result.diagonal += log_normal_density(task.yt[t], p.diagonal.mean[t], p.diagonal.variance[t]);
    result.mixture += p.log_likelihood[t];
  }
  result.joint = p.joint_log_likelihood.value_or(0);
  for (double* sum : {&result.diagonal, &result.mixture, &result.joint}) *sum /= static_cast<double>(task.yt.size());
  result.predicted = std::move(p.diagonal);
  return result;
}

double BayesRow::*const kFigures[] = {&BayesRow::diagonal, &BayesRow::mixture, &BayesRow::joint};

/// A batch with the scores of its tasks, and the first one's by a finer rule.
struct ScoredBatch {
  GpBatch batch;
  std::vector<BayesRow> rows;  // (B)
  BayesRow finer{};
};

/// Scores `count` batches, sharing the tasks out among threads.
std::vector<ScoredBatch> score_batches(const GpSampler& sampler, std::int64_t first, std::int64_t count,
                                       const BayesOptions& options) {
  const std::int64_t rows = sampler.batch_size(), items = rows + 1;
  std::vector<ScoredBatch> scored;
  for (std::int64_t b = first; b < first + count; ++b)
    scored.push_back({in_double(sampler.batch(static_cast<std::uint64_t>(b))), std::vector<BayesRow>(rows)});
  thread_pool().for_range(count * items, 1, [&](std::int64_t i, std::int64_t) {
    ScoredBatch& s = scored[i / items];
    const std::int64_t row = i % items;
    if (row < rows)
      s.rows[row] = score_row(sampler.distribution(), s.batch, row, options);
    else
      s.finer = score_row(sampler.distribution(), s.batch, 0, options.finer());
  });
  return scored;
}

/// Appends the means of one batch, and adds to `changes` what the finer rule changes.
void add(const ScoredBatch& scored, bool joint, BayesScores& scores, BayesRow& changes) {
  BayesRow mean;
  for (const auto figure : kFigures) {
    for (const BayesRow& row : scored.rows) mean.*figure += row.*figure / static_cast<double>(scored.rows.size());
    changes.*figure += std::abs(scored.finer.*figure - scored.rows[0].*figure);
  }
  scores.diagonal.push_back(mean.diagonal);
  scores.mixture.push_back(mean.mixture);
  if (joint) scores.joint.push_back(mean.joint);
  for (std::size_t b = 0; b < scored.rows.size(); ++b) {
    const GpMarginals& predicted = scored.rows[b].predicted;
    const auto yt = Row(scored.batch.task, static_cast<std::int64_t>(b)).yt;
    for (std::size_t t = 0; t < yt.size(); ++t)
      scores.fit.add(predicted.mean[t], std::sqrt(predicted.variance[t]), yt[t]);
  }
}

double variance(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / (n - 1);
}

/// Mean of `known` less the mean of what of it is lost in the batches that `scores` has.
Estimate with_control(std::span<const double> known, std::span<const double> scores) {
  check(!scores.empty() && scores.size() <= known.size(),
        "[oracle] {} batches with known kernels for {} without, expected as many or more, for at least one",
        known.size(), scores.size());
  const auto m = static_cast<double>(known.size()), n = static_cast<double>(scores.size());
  std::vector<double> terms;  // of the sum that the estimate is, one a batch
  for (std::size_t i = 0; i < scores.size(); ++i) terms.push_back(known[i] / m - (known[i] - scores[i]) / n);
  const auto rest = known.subspan(scores.size());
  Estimate estimate;
  estimate.value =
      std::accumulate(terms.begin(), terms.end(), 0.0) + std::accumulate(rest.begin(), rest.end(), 0.0) / m;
  estimate.standard_error = std::sqrt(n * variance(terms) + (m - n) * variance(known) / (m * m));
  return estimate;
}

}  // namespace

GpPosterior exact_posterior(const GpBatch& batch, std::int64_t row) {
  return posterior_in_double(in_double(batch), row);
}

double exact_marginal_log_likelihood(const GpBatch& batch) {
  return mean_score(batch, [&](const GpPosterior& posterior, const Row& task) {
    const auto values = posterior.log_likelihood(task.xt, task.yt, batch.target_noise);
    return std::accumulate(values.begin(), values.end(), 0.0);
  });
}

double exact_joint_log_likelihood(const GpBatch& batch) {
  return mean_score(batch, [&](const GpPosterior& posterior, const Row& task) {
    return posterior.joint_log_likelihood(task.xt, task.yt, batch.target_noise);
  });
}

KnownScores known_scores(const GpSampler& sampler, std::int64_t batches, const BatchProgress& progress) {
  constexpr std::int64_t kTogether = 64;
  const bool joint = sampler.distribution().target_noise > 0;
  KnownScores scores{std::vector<double>(batches), std::vector<double>(joint ? batches : 0)};
  in_rounds(batches, kTogether, progress, [&](std::int64_t first, std::int64_t count) {
    thread_pool().for_range(count, 1, [&](std::int64_t i, std::int64_t) {
      const GpBatch batch = in_double(sampler.batch(static_cast<std::uint64_t>(first + i)));
      scores.marginal[first + i] = exact_marginal_log_likelihood(batch);
      if (joint) scores.joint[first + i] = exact_joint_log_likelihood(batch);
    });
  });
  return scores;
}

BayesScores bayes_scores(const GpSampler& sampler, std::int64_t batches, const BayesOptions& options,
                         const BatchProgress& progress) {
  constexpr std::int64_t kTasksTogether = 32;
  const bool joint = sampler.distribution().target_noise > 0;
  const std::int64_t together = std::max<std::int64_t>(1, kTasksTogether / sampler.batch_size());
  BayesScores scores;
  BayesRow changes;
  in_rounds(batches, together, progress, [&](std::int64_t first, std::int64_t count) {
    for (const ScoredBatch& scored : score_batches(sampler, first, count, options)) add(scored, joint, scores, changes);
  });
  for (const auto figure : kFigures)
    scores.quadrature_error = std::max(scores.quadrature_error, changes.*figure / static_cast<double>(batches));
  return scores;
}

OracleEstimates estimate_oracles(const KnownScores& known, const BayesScores& bayes) {
  OracleEstimates estimates;
  estimates.known_marginal = with_control(known.marginal, known.marginal);
  estimates.bayes_diagonal = with_control(known.marginal, bayes.diagonal);
  estimates.bayes_mixture = with_control(known.marginal, bayes.mixture);
  if (!known.joint.empty()) {
    estimates.known_joint = with_control(known.joint, known.joint);
    estimates.bayes_joint = with_control(known.joint, bayes.joint);
  }
  return estimates;
}

bool agrees(const Estimate& estimate, double stated, double stated_error) {
  constexpr double kRounding = 0.01;
  const double error = std::isfinite(estimate.standard_error) ? estimate.standard_error : 0;
  return std::abs(estimate.value - stated) <= 3 * std::hypot(error, stated_error) + kRounding;
}

}  // namespace npzoo
