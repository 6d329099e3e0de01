#pragma once

#include "npzoo/engine/cpu/lane_factors.h"
#include "npzoo/engine/cpu/transpose.h"
#include "npzoo/ops/kriging/lattice.h"

// Small Gaussian processes side by side: each lane of a register has a kernel of its own, at the same points. Included
// by kernels for CPUs only.

namespace npzoo::kriging {

using Lanes = LaneFactors<double>;

/// Kernels of the lanes. Lanes behind the last kernel repeat it.
struct LaneKernels {
  const KrigingKernel* of[Lanes::kLanes];

  Vec<double> get(double KrigingKernel::*field) const {
    Vec<double> x;
    for (int lane = 0; lane < Lanes::kLanes; ++lane) x[lane] = of[lane]->*field;
    return x;
  }
};

/// |L⁻¹ y|² and log |L| of each lane, and the last element on L's diagonal, which is not positive where there is no L.
struct LaneEvidence {
  Vec<double> squares, log_of_l, last;
};

/// Adds noise and jitter to the covariances `a` of n places, and factorises them in place.
inline LaneEvidence evidence_of(const LaneKernels& kernels, std::int64_t n, const double* y, const Lanes& a) {
  Vec<double> sum{};
  for (std::int64_t i = 0; i < n; ++i) sum += a.get(i, i);
  const Vec<double> noise = kernels.get(&KrigingKernel::noise), more = noise + sum * (kJitter / static_cast<double>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    a.put(i, i, a.get(i, i) + more);
    a.put(n, i, simd::splat<double>(y[i]));
  }
  a.factorise();
  constexpr std::int64_t kAtOnce = 8;  // elements whose product stays within range
  LaneEvidence e{};
  for (std::int64_t begin = 0; begin < n; begin += kAtOnce) {
    Vec<double> product = simd::splat<double>(1);
    for (std::int64_t i = begin; i < n && i < begin + kAtOnce; ++i) {
      const Vec<double> white = a.get(n, i);
      e.squares += white * white;
      product *= a.get(i, i);
    }
    e.log_of_l += simd::log(product);
  }
  if (n > 0) e.last = a.get(n - 1, n - 1);
  return e;
}

/// Writes the covariances of places on a lattice. `table` has lags + lags · kLanes doubles.
template <class Math>
void fill_lanes(const LaneKernels& kernels, const Points& places, const Lattice& lattice, const std::int64_t* steps,
                double* table, const Lanes& out, const Math& math) {
  double *const one = table, *const all = table + lattice.lags;
  for (int lane = 0; lane < Lanes::kLanes; ++lane) {
    const KrigingKernel& kernel = *kernels.of[lane];
    if (lane == 0 || !same_without_noise(kernel, *kernels.of[lane - 1])) lag_covariances(kernel, lattice, one, math);
    for (std::int64_t lag = 0; lag < lattice.lags; ++lag) all[lag * Lanes::kLanes + lane] = one[lag];
  }
  const Vec<double> trend = kernels.get(&KrigingKernel::trend);
  for (std::int64_t i = 0; i < places.count; ++i) {
    const double* const row = all + (lattice.lags - 1 - steps[i]) * Lanes::kLanes;
    const Vec<double> slope = trend * places.inputs[i];
    for (std::int64_t j = 0; j <= i; ++j)
      out.put(i, j, simd::load(row + steps[j] * Lanes::kLanes) + slope * places.inputs[j]);
  }
}

/// Copies the lower triangles of matrices (n, n), one for each lane; some may be the same one.
inline void fill_lanes(std::int64_t n, const double* const* matrices, const Lanes& out) {
  constexpr int kLanes = Lanes::kLanes;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; j += kLanes) {
      const int count = static_cast<int>(i + 1 - j < kLanes ? i + 1 - j : kLanes);
      Vec<double> x[kLanes];
#pragma GCC unroll 8
      for (int lane = 0; lane < kLanes; ++lane) x[lane] = simd::load_first(matrices[lane] + i * n + j, count);
      simd::transpose(x);
      for (int c = 0; c < count; ++c) out.put(i, j + c, x[c]);
    }
}

}  // namespace npzoo::kriging
