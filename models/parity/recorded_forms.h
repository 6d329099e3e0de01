#pragma once

#include <span>

#include "npzoo/datasets/task.h"
#include "npzoo/engine/module.h"
#include "npzoo/engine/optim/optimiser.h"
#include "npzoo/engine/tape.h"
#include "npzoo/engine/tensor.h"
#include "npzoo/models/parity/authors.h"
#include "npzoo/models/predictions/joint_gaussian.h"

namespace npzoo {

// Forms in which recordings are compared, all in float64 on the CPU.

double largest_value(const Tensor& x);

/// Largest difference; infinite where one side is not a number. Throws Error for another number of values.
double difference(const Tensor& ours, const Tensor& theirs);

Tensor in_double(const Tensor& x);
double mean_of(const Tensor& x);
Tensor scalar(double value);

/// The optimiser of recorded updates.
OptimiserConfig optimiser_of(const RecordedAdam& recorded);

/// Mean log-density over a task's real targets and channels, each of which is a mixture by itself.
double mean_by_channel(const Prediction& p, const Task& task);

/// Functions (K, B, N, D) in the form in which they were recorded: (B·K, N, D), row b·K + k, or of one function
/// (B, N·D). In any other shape as they are.
Tensor as_recorded(const Tensor& ours, const Shape& theirs);

/// Row by row of (K, N), the order in which values ascend, the earlier one of equal ones first: int64.
Tensor ascending(const Tensor& rows);

/// Factor · factorᵀ and the diagonal, (B, M, M).
Tensor covariance(const JointGaussian& joint);

/// Its lower triangular factor, with a positive diagonal where it is not the one that the model gives.
Tensor scale_tril(const JointGaussian& joint);

/// Deviation (B, Nt, Dy) of samples (K, B, Nt, Dy), by K − 1.
Tensor deviation(const Tensor& samples);

/// 0 if the weight (B, Nt) of a target is 0; as it was, where it is no (B, Nt, …).
Tensor without_padding(const Tensor& x, const Tensor& weights);

/// Targets of samples (K, B, Nt, Dy) in the order (K, Nt) in which the authors' code drew and left them. Throws Error
/// unless each row of the order has every target once.
Tensor in_order(const Tensor& samples, const Tensor& order);

/// Channels of each head apart, as recordings keep them: (B, N, H·D) → (B, H, N, D).
Tensor split_into_heads(const Tensor& x, std::int64_t heads);

/// √(Σ ‖gradient‖²) over all parameters.
double norm_of(const Grads& grads, std::span<const NamedParameter> parameters);

}  // namespace npzoo
