#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

#include "npzoo/engine/gemm.h"

// The requests of batched_gemm to cuBLAS, without cuBLAS, so that tests can check them without a GPU.

namespace npzoo {

/// A matrix that is stored column by column: element (i, j) of the next one in the batch is at j · stride + i + step.
struct BlasMatrix {
  std::int64_t rows, columns, stride, step;
  bool transposed;  // enters the product as its transpose

  auto key() const { return std::tuple(rows, columns, stride, step, transposed); }
};

/// out (m, n) = op(first) (m, k) · op(second) (k, n), `batch` times. The row-major C = A B of a Gemm is Cᵀ = Bᵀ Aᵀ in
/// this layout: `first` is the Gemm's B, `second` its A and `out` its C.
struct BlasProduct {
  std::int64_t m, n, k, batch;
  BlasMatrix first, second, out;

  auto key() const { return std::tuple(first.key(), second.key(), out.key(), batch); }
};

/// A row-major (rows, columns) factor. One whose columns are next to each other is stored as its transpose already.
inline BlasMatrix blas_factor(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column,
                              std::int64_t step) {
  const auto at_least = [](std::int64_t stride, std::int64_t length) {
    return std::max(stride, std::max<std::int64_t>(length, 1));
  };
  if (column == 1) return {columns, rows, at_least(row, columns), step, false};
  return {rows, columns, at_least(column, rows), step, true};
}

template <class T>
BlasProduct blas_product(const BatchedGemm<T>& p) {
  const Gemm<T>& one = p.one;
  return {.m = one.n,
          .n = one.m,
          .k = one.k,
          .batch = p.batch,
          .first = blas_factor(one.k, one.n, one.b_row, one.b_col, p.b_step),
          .second = blas_factor(one.m, one.k, one.a_row, one.a_col, p.a_step),
          .out = {one.n, one.m, std::max(one.c_row, std::max<std::int64_t>(one.n, 1)), p.c_step, false}};
}

/// The largest power of two that divides the address, `most` at most. Algorithms that need more are not proposed.
inline std::uint32_t alignment_of(const void* address, std::uint32_t most = 64) {
  const auto bits = std::countr_zero(reinterpret_cast<std::uintptr_t>(address) | most);
  return std::uint32_t{1} << bits;
}

/// The library that computes a product: cuBLASLt, with the bias added by the library or without; or cuBLAS, which knows
/// every shape.
enum class GemmRoute : std::uint8_t { lt_with_bias, lt, strided };

/// Whether the library is to add the bias: it does so in float32, to what replaces C.
///
/// ReLU is never the library's: its documentation promises max(x, 0), which may drop NaN, and says nothing of it. With
/// a ReLU, apply_epilogue adds the bias in the same pass.
template <class T>
bool wants_library_bias(const Gemm<T>& p) {
  constexpr std::uint32_t kBiasAlignment = 16;
  return std::is_same_v<T, float> && p.bias && !p.accumulate && p.activation == Activation::none &&
         alignment_of(p.bias) >= kBiasAlignment;
}

/// Returns the first route that has an algorithm. `has_algorithm(route)` asks cuBLASLt, which has none for some shapes.
template <class F>
GemmRoute choose_route(bool library_bias, std::int64_t batch, const F& has_algorithm) {
  const bool counted_in_32_bits = batch <= std::numeric_limits<std::int32_t>::max();
  if (counted_in_32_bits && library_bias && has_algorithm(GemmRoute::lt_with_bias)) return GemmRoute::lt_with_bias;
  if (counted_in_32_bits && has_algorithm(GemmRoute::lt)) return GemmRoute::lt;
  return GemmRoute::strided;
}

/// Whether apply_epilogue has something to do behind a product on this route. An empty sum has no product: it sets
/// zeros.
template <class T>
bool needs_epilogue(const Gemm<T>& p, GemmRoute route) {
  const bool adds_bias = p.bias && (p.k == 0 || route != GemmRoute::lt_with_bias);
  return adds_bias || p.activation != Activation::none || (p.k == 0 && !p.accumulate);
}

}  // namespace npzoo
