#pragma once

#include <vector>

#include "npzoo/engine/device_counter.h"
#include "npzoo/engine/tensor.h"
#include "npzoo/ops/kriging/kriging_kernel.h"

namespace npzoo {

/// Gaussian processes for each task: those of a bank that explain its context best.
struct KrigingFit {
  Tensor kernels;  // (B, S, fields of KrigingKernel) float64
  Tensor centre;   // (B, D) float64: the middle of the range of each input
  Tensor places;   // (B, N, D) float64, relative to the centre, in an order that keeps near points together
  Tensor values;   // (B, N) float64, in that order
  Tensor order;    // (B, N) int64: the index in x of each place
  Tensor lengths;  // (B) int64 or undefined
};

/// Predictions for points: Gaussians averaged by weight.
struct KrigingMoments {
  Tensor mean;    // (B, N)
  Tensor std;     // (B, N), of a value with noise, > 0
  Tensor spread;  // (B, N): standard deviation of the kernels' means, over std; in [0, 1]
};

/// Weighs every kernel of a bank by the density that it gives to the values, and keeps the best. Contexts of more than
/// kKrigingBlock points are weighed in blocks of near points that count as independent, so that time grows linearly
/// with the points. Banks of more than kKrigingFinalists kernels are searched in blocks of kKrigingSketch points first.
/// The variance of the process is integrated out under an inverse-gamma prior (2, 1), which suits values of standard
/// deviation 1. The periods are the two highest peaks of the Lomb–Scargle periodogram of the residuals of a straight
/// line (Scargle 1982). Inputs count from the middle of the context's range, so that shifting all inputs changes
/// nothing.
///
/// x (B, N, D) with D ≤ 3, y (B, N, 1), of one dtype; `lengths` (B) is the number of real points of each row;
/// `bank` (K, fields) float64 on the device of x, from kriging_bank; 1 ≤ keep ≤ min(K, kMostKrigingKernels). Records
/// nothing: results are constants. Computes in double. N = 0 is legal.
KrigingFit kriging_fit(const Tensor& x, const Tensor& y, const Tensor& lengths, const Tensor& bank, std::int64_t keep);

/// Counts kernels that `kriging_fit` could not weigh, because a covariance matrix has no Cholesky factor, even with 10
/// and 100 times the usual jitter, or because values are not finite. Such a kernel comes last. A CountScope counts
/// those of one call.
DeviceCounter& failed_factorisation_counter();

/// Predicts the values at `x` (B, M, D), in the dtype of x. Records the gradient of x alone; the fit is a constant. A
/// Matérn-½ kernel has an edge at each point of the context, and the spread has one where all kernels agree: there the
/// slope is 0. Saves the kernels, their predictions and the derivatives with respect to x. Time grows with the cube of
/// the points of a context; on a CPU it grows with their number for Matérn kernels of one input without a trend, unless
/// gradients are recorded.
KrigingMoments kriging_predict(const KrigingFit& fit, const Tensor& x);
/// Predicts each value of the context from all others, in the order of the context, in `dtype` (float32 or float64).
/// Rows behind a task's length are 0, 1 and 0. Records nothing.
KrigingMoments kriging_leave_one_out(const KrigingFit& fit, DType dtype);

/// Returns the kernels as a tensor on the CPU.
Tensor kriging_bank(const std::vector<KrigingKernel>& kernels);

}  // namespace npzoo
