#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Batch normalisation (Ioffe and Szegedy, "Batch normalization", 2015) over all axes but the last, the channels.
struct BatchNorm {
  Tensor out;
  Tensor mean, variance;  // (C), of this batch, the variance divided by the number of rows; constants
};

/// In training: (x − mean) / √(variance + eps) · gain + bias with the statistics of the batch itself, through which
/// gradients go.
///
/// x (…, C), gain and bias (C), one dtype → out (…, C); float32 or float64. C may be 0. Throws Error if there are no
/// rows. Composed of recorded operations, which save about four arrays like x.
///
/// The statistics are those of the tensor given: of the tasks that are worked through together. Training cuts a batch
/// into parts, each on one thread; a model that is to normalise over all of a batch must not be cut. Running statistics
/// are `running_statistics` of those returned here, and belong to a Parameter that is not trained.
BatchNorm batch_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps = 1e-5);

/// In evaluation: the same with given statistics (C) of dtype and device of x, as one factor and one shift for each
/// channel. Any number of rows; a row does not depend on the others.
Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& gain, const Tensor& bias,
                  double eps = 1e-5);

/// Statistics that training keeps for evaluation: before + momentum (of this batch − before), constants. The variance
/// of this batch counts by rows / (rows − 1), unbiased, as in PyTorch; with one row as it is.
struct RunningStatistics {
  Tensor mean, variance;  // (C)
};
RunningStatistics running_statistics(const RunningStatistics& before, const BatchNorm& batch, double momentum = 0.1);

}  // namespace npzoo
