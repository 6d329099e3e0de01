#pragma once

#include "npzoo/engine/cpu/simd_math.h"

namespace npzoo {

/// Small symmetric matrices (n, n), one in each lane of a register, and right sides. Factors of matrices too small for
/// products of blocks so use whole registers. Included by kernel sources only.
///
/// Memory has the lower triangle by rows, then a row of n for each right side.
template <class T>
class LaneFactors {
 public:
  static constexpr int kLanes = Simd<T>::kLanes;

  /// Returns how many T they need.
  static constexpr std::int64_t work(std::int64_t n, std::int64_t rights) {
    return (n * (n + 1) / 2 + rights * n) * kLanes;
  }

  LaneFactors(std::int64_t n, std::int64_t rights, T* memory) : n_(n), rows_(n + rights), memory_(memory) {}

  /// Row i of the matrix, or i − n of the right sides.
  T* row(std::int64_t i) const {
    const std::int64_t before = i < n_ ? i * (i + 1) / 2 : n_ * (n_ + 1) / 2 + (i - n_) * n_;
    return memory_ + before * kLanes;
  }
  Vec<T> get(std::int64_t i, std::int64_t j) const { return simd::load(row(i) + j * kLanes); }
  void put(std::int64_t i, std::int64_t j, Vec<T> x) const { simd::store(row(i) + j * kLanes, x); }

  /// a ← L with L Lᵀ = a, and y ← L⁻¹ y. A matrix that is not positive definite becomes NaN from some row on.
  void factorise() const {
    std::int64_t j = 0;
    for (; j + kWide <= n_; j += kWide) factorise_columns<kWide>(j);
    for (; j < n_; ++j) factorise_columns<1>(j);
  }

 private:
  /// Columns and rows at a time: as many sums as registers hold.
  static constexpr int kWide = kVectorBytes == 64 ? 4 : 2, kHigh = 4;

  template <int kColumns>
  void factorise_columns(std::int64_t j) const {
    Vec<T> inverse[kColumns];  // of the diagonal
    for (int d = 0; d < kColumns; ++d) {
      Vec<T> x[kColumns];
      subtract_products<1, kColumns>(j + d, j, d + 1, &x);
      for (int c = 0; c < d; ++c) {
        x[c] = solve(x, j, c) * inverse[c];
        put(j + d, j + c, x[c]);
      }
      const Vec<T> root = simd::sqrt(solve(x, j, d));
      inverse[d] = static_cast<T>(1) / root;
      put(j + d, j + d, root);
    }
    std::int64_t i = j + kColumns;
    for (; i + kHigh <= rows_; i += kHigh) factorise_rows<kHigh, kColumns>(i, j, inverse);
    for (; i < rows_; ++i) factorise_rows<1, kColumns>(i, j, inverse);
  }

  template <int kRows, int kColumns>
  [[gnu::always_inline]] void factorise_rows(std::int64_t i, std::int64_t j, const Vec<T>* inverse) const {
    Vec<T> x[kRows][kColumns];
    subtract_products<kRows, kColumns>(i, j, kColumns, x);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        x[r][c] = solve(x[r], j, c) * inverse[c];
        put(i + r, j + c, x[r][c]);
      }
  }

  /// x ← a(i + r, j + c) − Σ a(i + r, k) a(j + c, k) over the columns before j, for the first `count` columns from j
  /// on.
  template <int kRows, int kColumns>
  [[gnu::always_inline]] void subtract_products(std::int64_t i, std::int64_t j, int count,
                                                Vec<T> (*x)[kColumns]) const {
    Vec<T> sums[kRows][kColumns];
    const T *left[kRows], *above[kColumns];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) left[r] = row(i + r);
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) above[c] = row(j + c);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) sums[r][c] = c < count ? simd::load(left[r] + (j + c) * kLanes) : Vec<T>{};
    for (std::int64_t k = 0; k < j * kLanes; k += kLanes) {
      Vec<T> there[kColumns];
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) there[c] = simd::load(above[c] + k);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const Vec<T> here = simd::load(left[r] + k);
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c) sums[r][c] -= here * there[c];
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) x[r][c] = sums[r][c];
  }

  /// x[c] without the columns of this block before it.
  [[gnu::always_inline]] Vec<T> solve(const Vec<T>* x, std::int64_t j, int c) const {
    Vec<T> sum = x[c];
    for (int before = 0; before < c; ++before) sum -= x[before] * get(j + c, j + before);
    return sum;
  }

  std::int64_t n_, rows_;
  T* memory_;
};

}  // namespace npzoo
