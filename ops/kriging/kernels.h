#pragma once

#include "npzoo/engine/kernel.h"
#include "npzoo/ops/kriging/kriging_kernel.h"

namespace npzoo {

constexpr std::int64_t kMostFrequencies = 512;  // of a periodogram

/// Returns how many doubles a context needs while it is ordered.
constexpr std::int64_t context_work(std::int64_t points) { return 3 * points + kMostFrequencies + 3; }

/// Brings contexts into the order and the coordinates that the later kernels read, in double, and a bank's kernels into
/// the units of each context.
template <class T>
struct KrigingContexts {
  std::int64_t batch, points, dims, members;
  const std::int64_t* lengths;  // null: all points are real
  const T* x;                   // (batch, points, dims)
  const T* y;                   // (batch, points)
  const KrigingKernel* bank;    // (members)
  std::int64_t* order;          // (batch, points)
  double* centre;               // (batch, dims): the middle of the range of each input
  double* places;               // (batch, points, dims), relative to the centre
  double* values;               // (batch, points)
  KrigingKernel* kernels;       // (batch, members)
  double* work;                 // (batch, context_work(points))
};

/// Computes the evidence of each kernel for tasks of at least `fewest` points, in blocks of at most `block` points.
template <class T>
struct KrigingWeigh {
  std::int64_t batch, points, dims, count, block, fewest;
  const std::int64_t* lengths;
  const double* places;
  const double* values;
  KrigingKernel* kernels;      // (batch, count)
  unsigned long long* failed;  // counts kernels that get no evidence; on the device of the context
};

/// Keeps the best of each task's kernels, best first.
template <class T>
struct KrigingKeep {
  std::int64_t batch, count, keep;
  const KrigingKernel* kernels;  // (batch, count)
  KrigingKernel* kept;           // (batch, keep)
};

/// Predicts with the kept kernels at x, or at a context's own points if x is null.
template <class T>
struct KrigingPredict {
  std::int64_t batch, points, dims, keep, targets;
  const std::int64_t* lengths;
  const std::int64_t* order;
  const double* centre;
  const double* places;
  const double* values;
  const KrigingKernel* kernels;
  const T* x;              // (batch, targets, dims) or null
  double* each;            // (batch, keep, 2, targets): means and variances
  double* slopes;          // (batch, keep, dims, 2, targets): their slopes along each input of x; null: not requested
  T *mean, *std, *spread;  // (batch, targets)
};

/// Computes gradients of the predictions with respect to x.
template <class T>
struct KrigingBackward {
  std::int64_t batch, dims, keep, targets;
  const KrigingKernel* kernels;
  const double* each;  // as KrigingPredict wrote them
  const double* slopes;
  const T *d_mean, *d_std, *d_spread;  // (batch, targets); null: nothing depends on it
  T* d_x;                              // (batch, targets, dims)
};

NPZOO_KERNEL(kriging_contexts, KrigingContexts);
NPZOO_KERNEL(kriging_weigh, KrigingWeigh);
NPZOO_KERNEL(kriging_keep, KrigingKeep);
NPZOO_KERNEL(kriging_moments, KrigingPredict);
NPZOO_KERNEL(kriging_backward, KrigingBackward);

}  // namespace npzoo
