#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "npzoo/datasets/scores.h"
#include "npzoo/datasets/task_source.h"
#include "npzoo/engine/ranks/job.h"
#include "npzoo/models/model.h"

namespace npzoo {

/// How well predictions fit. Likelihoods are in nats per target point; each batch counts equally.
struct Evaluation {
  /// Log-likelihoods of each target by itself, and of all together, divided by their number; NaN if not requested. The
  /// errors are those of the mean over batches.
  double log_likelihood = 0, standard_error = 0;
  double joint_log_likelihood = 0, joint_standard_error = 0;
  DensityForms forms;                 // how they are got
  std::int64_t marginal_batches = 0;  // that are scored target by target, and that what follows is of
  std::map<int, double> coverage;     // share of targets inside the central interval of 50, 80, 90, 95 %
  double calibration_error = 0;       // how far such shares are off, mean over the intervals of 5, 10 … 95 %
  double crps = 0;                    // continuous ranked probability score, mean over targets and channels
  std::optional<double> std_floor;    // of the model, where it has one: it limits the log-likelihood
  /// Root mean square of mean − value at the context's points, in units of y; NaN if not requested.
  double context_rmse = 0;
  /// Log-likelihood of each value at the context's points by itself, mean over points; NaN if not requested.
  double context_log_likelihood = 0;
  /// On the first batches, if requested and known, else NaN: log-likelihood under the distribution of the tasks, and
  /// the model's gap to it. The gap has a far smaller standard error than the difference of two log-likelihoods,
  /// because both are of the same tasks.
  double exact_gp = 0, exact_gap = 0, exact_gap_error = 0;
  std::int64_t exact_batches = 0;
  std::string truth;  // what figures call what the tasks were drawn from; empty if it is not known
  std::int64_t tasks = 0;
  std::int64_t clamped_denominators = 0;  // see random_feature_attention.h; of models with random features
};

struct EvaluationOptions {
  std::int64_t batches = 1;
  std::uint64_t seed = 0;  // of what the model draws; for each batch other numbers
  /// For how many of the first batches the truth is scored as well, if it is known.
  std::int64_t exact_batches = 0;
  /// The density of the model's figures; the truth is scored by the same.
  Density density = Density::marginal;
  /// Only the log-likelihood of that density, for validations.
  bool density_only = false;
  /// On how many of the first batches targets are scored by themselves where that takes a walk along many sampled
  /// paths.
  std::int64_t path_batches = std::numeric_limits<std::int64_t>::max();
  /// Whether the context's points are predicted as well, for the figures at the context.
  bool context = false;
  /// Called after each batch; may throw to stop.
  std::function<void(std::int64_t done)> progress{};
  Job* job = nullptr;  // ranks that score the batches together, with the figures of one process
};

/// Scores a model on batches 0 … batches − 1 of a source, or on all of a finite one that has fewer, several at a time
/// on as many threads.
Evaluation evaluate(const Model& model, const TaskSource& source, const EvaluationOptions& options);

}  // namespace npzoo
