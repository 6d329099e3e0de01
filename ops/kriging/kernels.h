#pragma once

#include "engine/kernel.h"
#include "ops/kriging/kriging_kernel.h"

namespace npzoo {

constexpr std::int64_t kMostFrequencies = 512;  // of a periodogram

/// Doubles that a context needs while it is ordered.
constexpr std::int64_t context_work(std::int64_t points) { return 3 * points + kMostFrequencies; }

/// Contexts as they are given and, in double and ordered, as what follows reads them.
template <class T>
struct KrigingContexts {
  std::int64_t batch, points, dims;
  const std::int64_t* lengths;  // null: all points are real
  const T* x;                   // (batch, points, dims)
  const T* y;                   // (batch, points)
  std::int64_t* order;          // (batch, points)
  double* places;               // (batch, points, dims)
  double* values;               // (batch, points)
  double* scales;               // (batch, 3): two periods, 0 where there is none; the mean distance between points
  double* work;                 // (batch, context_work(points))
};

template <class T>
struct KrigingEvidence {
  std::int64_t batch, points, dims, members, keep;
  const std::int64_t* lengths;
  const double* places;
  const double* values;
  const double* scales;
  const KrigingKernel* bank;  // (members)
  double* evidence;           // (batch, members): logarithms, of the prior as well
  double* variance;           // (batch, members)
  KrigingKernel* kernels;     // (batch, keep), what is kept of them
};

/// What the kernels that were kept say of M points: of a context's own ones where there is no x.
template <class T>
struct KrigingPredict {
  std::int64_t batch, points, dims, keep, targets;
  const std::int64_t* lengths;
  const std::int64_t* order;
  const double* places;
  const double* values;
  const KrigingKernel* kernels;
  const T* x;              // (batch, targets, dims) or null
  double* each;            // (batch, keep, 2, targets): means and variances
  T *mean, *std, *spread;  // (batch, targets)
};

NPZOO_KERNEL(kriging_contexts, KrigingContexts);
NPZOO_KERNEL(kriging_evidence, KrigingEvidence);
NPZOO_KERNEL(kriging_moments, KrigingPredict);

}  // namespace npzoo
