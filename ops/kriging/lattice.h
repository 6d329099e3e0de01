#pragma once

#include <cmath>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/kriging/process.h"

// Covariances of places on a line that are whole steps apart: a function of the steps between two places, computed once
// for each number of steps. Included by kernels for CPUs only.

namespace npzoo::kriging {

/// Places x₀ + k · step, in ascending order.
struct Lattice {
  double step = 0;
  std::int64_t lags = 0;  // the most steps between two places, and one; 0: the places are no lattice
};

/// Finds the lattice of places and writes the k of each to `at` (count). `order_context` makes the distances of regular
/// places as equal as doubles can be.
inline Lattice lattice_of(const Points& places, std::int64_t* at) {
  constexpr double kSparse = 4;  // steps for each place, above which the table costs more than it saves
  const std::int64_t n = places.count;
  const double* const x = places.inputs;
  if (places.dims != 1 || n < 2) return {};
  double gap = __builtin_huge_val();
  for (std::int64_t i = 1; i < n; ++i)
    if (const double next = x[i] - x[i - 1]; next > 0 && next < gap) gap = next;
  const double span = x[n - 1] - x[0], steps = std::round(span / gap);
  if (!(steps >= 1 && steps < kSparse * static_cast<double>(n))) return {};
  const double step = span / steps, rounding = 1e-13 * span;
  for (std::int64_t i = 0; i < n; ++i) {
    const double k = std::round((x[i] - x[0]) / step);
    if (!(std::abs(x[i] - x[0] - k * step) <= rounding)) return {};
    at[i] = static_cast<std::int64_t>(k);
  }
  return {step, static_cast<std::int64_t>(steps) + 1};
}

/// Writes the covariances of 0 to lags − 1 steps, without those of a trend, to `table`, the one of most steps first.
template <class Math>
void lag_covariances(const KrigingKernel& kernel, const Lattice& lattice, double* table, const Math& math) {
  constexpr int kLanes = Simd<double>::kLanes;
  const double angle = kernel.period > 0 ? kTwoPi / kernel.period * lattice.step : 0;
  const double turn_cosine = std::cos(angle), turn_sine = std::sin(angle);
  double cosine = 1, sine = 0;
  for (std::int64_t lag = 0; lag < lattice.lags; lag += kLanes) {
    Vec<double> distance, cosines;
    for (int i = 0; i < kLanes; ++i) {
      distance[i] = static_cast<double>(lag + i) * lattice.step * kernel.inverse_length[0];
      cosines[i] = cosine;
      const double turned = cosine * turn_cosine - sine * turn_sine;
      sine = sine * turn_cosine + cosine * turn_sine;
      cosine = turned;
    }
    const Vec<double> covariances = covariance(kernel, distance, cosines, Vec<double>{}, math);
    for (int i = 0; i < kLanes && lag + i < lattice.lags; ++i) table[lattice.lags - 1 - lag - i] = covariances[i];
  }
}

/// Writes the lower triangle of the covariance matrix of places to `out`; `table` is the one of `lag_covariances`.
inline void spread_lags(const KrigingKernel& kernel, const Points& places, const Lattice& lattice,
                        const std::int64_t* at, const double* table, double* out, std::int64_t stride) {
  for (std::int64_t i = 0; i < places.count; ++i) {
    const double* const row = table + lattice.lags - 1 - at[i];
    const double slope = kernel.trend * places.inputs[i];
    for (std::int64_t j = 0; j <= i; ++j) out[i * stride + j] = row[at[j]] + slope * places.inputs[j];
  }
}

}  // namespace npzoo::kriging
