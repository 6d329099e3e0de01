#pragma once

#include "npzoo/engine/cpu/simd_math.h"
#include "npzoo/engine/cpu/transpose.h"
#include "npzoo/ops/kriging/lattice.h"

// Small Gaussian processes side by side: each lane of a register has a kernel of its own, at the same points. Factors
// of matrices too small for products of blocks so use whole registers. Included by kernels for CPUs only.

namespace npzoo::kriging {

/// Symmetric matrices (n, n), one in each lane: the lower triangle by rows, and a last row for right sides. Where
/// `factorise` has made L of a matrix a, the last row is L⁻¹ y.
class Lanes {
 public:
  static constexpr int kLanes = Simd<double>::kLanes;

  /// Returns how many doubles they need.
  static constexpr std::int64_t work(std::int64_t n) { return (n * (n + 1) / 2 + n) * kLanes; }

  Lanes(std::int64_t n, double* memory) : n_(n), a_(memory) {}

  double* at(std::int64_t i, std::int64_t j) const { return a_ + (i * (i + 1) / 2 + j) * kLanes; }
  Vec<double> get(std::int64_t i, std::int64_t j) const { return simd::load(at(i, j)); }

  /// A matrix that is not positive definite becomes NaN from some row on.
  void factorise() const {
    std::int64_t j = 0;
    for (; j + kWide <= n_; j += kWide) factorise_columns<kWide>(j);
    for (; j < n_; ++j) factorise_columns<1>(j);
  }

 private:
  /// Columns and rows at a time: as many sums as registers hold.
  static constexpr int kWide = kLanes == 8 ? 4 : 2, kHigh = 4;

  template <int kColumns>
  void factorise_columns(std::int64_t j) const {
    Vec<double> inverse[kColumns];  // of the diagonal
    for (int d = 0; d < kColumns; ++d) {
      Vec<double> x[kColumns];
      subtract_products<1, kColumns>(j + d, j, d + 1, &x);
      for (int c = 0; c < d; ++c) {
        x[c] = solve(x, j, c) * inverse[c];
        simd::store(at(j + d, j + c), x[c]);
      }
      const Vec<double> root = simd::sqrt(solve(x, j, d));
      inverse[d] = 1.0 / root;
      simd::store(at(j + d, j + d), root);
    }
    std::int64_t i = j + kColumns;
    for (; i + kHigh <= n_ + 1; i += kHigh) factorise_rows<kHigh, kColumns>(i, j, inverse);
    for (; i <= n_; ++i) factorise_rows<1, kColumns>(i, j, inverse);
  }

  template <int kRows, int kColumns>
  [[gnu::always_inline]] void factorise_rows(std::int64_t i, std::int64_t j, const Vec<double>* inverse) const {
    Vec<double> x[kRows][kColumns];
    subtract_products<kRows, kColumns>(i, j, kColumns, x);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        x[r][c] = solve(x[r], j, c) * inverse[c];
        simd::store(at(i + r, j + c), x[r][c]);
      }
  }

  /// x ← a(i + r, j + c) − Σ a(i + r, k) a(j + c, k) over the columns before j, for the first `count` columns from j
  /// on.
  template <int kRows, int kColumns>
  [[gnu::always_inline]] void subtract_products(std::int64_t i, std::int64_t j, int count,
                                                Vec<double> (*x)[kColumns]) const {
    Vec<double> sums[kRows][kColumns];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) sums[r][c] = c < count ? get(i + r, j + c) : Vec<double>{};
    for (std::int64_t k = 0; k < j; ++k) {
      Vec<double> above[kColumns];
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) above[c] = get(j + c, k);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const Vec<double> left = get(i + r, k);
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c) sums[r][c] -= left * above[c];
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) x[r][c] = sums[r][c];
  }

  /// x[c] without the columns of this block before it.
  [[gnu::always_inline]] Vec<double> solve(const Vec<double>* x, std::int64_t j, int c) const {
    Vec<double> sum = x[c];
    for (int before = 0; before < c; ++before) sum -= x[before] * get(j + c, j + before);
    return sum;
  }

  std::int64_t n_;
  double* a_;
};

/// Kernels of the lanes. Lanes behind the last kernel repeat it.
struct LaneKernels {
  const KrigingKernel* of[Lanes::kLanes];

  template <class F>
  Vec<double> each(F f) const {
    Vec<double> x;
    for (int lane = 0; lane < Lanes::kLanes; ++lane) x[lane] = f(*of[lane]);
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
  const Vec<double> noise = kernels.each([](const KrigingKernel&k) { return k.noise; }),
                    more = noise + sum * (kJitter / static_cast<double>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    simd::store(a.at(i, i), a.get(i, i) + more);
    simd::store(a.at(n, i), simd::splat<double>(y[i]));
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
  const Vec<double> trend = kernels.each([](const KrigingKernel& k) { return k.trend; });
  for (std::int64_t i = 0; i < places.count; ++i) {
    const double* const row = all + (lattice.lags - 1 - steps[i]) * Lanes::kLanes;
    const Vec<double> slope = trend * places.inputs[i];
    for (std::int64_t j = 0; j <= i; ++j)
      simd::store(out.at(i, j), simd::load(row + steps[j] * Lanes::kLanes) + slope * places.inputs[j]);
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
      for (int c = 0; c < count; ++c) simd::store(out.at(i, j + c), x[c]);
    }
}

}  // namespace npzoo::kriging
