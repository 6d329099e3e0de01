#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "npzoo/datasets/kinds/gp/bayes_posterior.h"
#include "npzoo/datasets/kinds/gp/sampler.h"
#include "npzoo/datasets/oracle.h"

namespace npzoo {

/// The figures of all tasks of a distribution: those under known kernels of six batches for each of `options.tasks`
/// tasks, since they cost little and make all figures better.
OracleFindings gp_oracle(const GpDistribution& distribution, const OracleOptions& options);

/// Called with the number of batches done; may throw to stop.
using BatchProgress = std::function<void(std::int64_t done)>;

/// Log-likelihoods in nats per target point. Joint ones are empty where targets carry no noise: the density of values
/// that determine each other says nothing.
struct KnownScores {
  std::vector<double> marginal, joint;
};
/// Under the true kernels, the mean of each of the first batches of a sampler.
KnownScores known_scores(const GpSampler& sampler, std::int64_t batches, const BatchProgress& progress = {});

/// Scores with the kernels integrated out, given each task's own context: `diagonal` is the best that independent
/// Gaussians can reach, `mixture` the best of any independent distributions, `joint` of any distribution.
struct BayesScores {
  std::vector<double> diagonal, mixture, joint;
  KnownScores known;            // of the same tasks
  MarginalFit fit;              // of the diagonal Gaussians
  double quadrature_error = 0;  // what a finer rule changes: mean over every 16th task, the worst figure's
};
/// Scores the first task of each of the first batches: the others of a batch are like it.
BayesScores bayes_scores(const GpSampler& sampler, std::int64_t batches, const BayesOptions& options = {},
                         const BatchProgress& progress = {});

/// The best possible values in expectation. Standard errors are over batches.
struct OracleEstimates {
  Estimate known_marginal, bayes_diagonal, bayes_mixture;
  std::optional<Estimate> known_joint, bayes_joint;
};
/// `known` of at least the batches of `bayes`, of the same sampler. What is lost by not knowing the kernel varies less
/// than what is possible, so it is taken from the mean of all that `known` has (a control variate).
OracleEstimates estimate_oracles(const KnownScores& known, const BayesScores& bayes);

}  // namespace npzoo
