#pragma once

#include "engine/cpu/gemm.h"
#include "engine/cpu/simd.h"

/// The micro-kernel of gemm_cpu.cpp: a tile of C, m × n, that lives in registers while it is summed.
namespace npzoo::gemm_tile {

constexpr int kSumRegisters = kIsa == Isa::avx512 ? 24 : kIsa == Isa::avx2 ? 12 : 8;
constexpr int kMaxVectors = kIsa == Isa::avx512 ? 4 : 2;
constexpr int kMaxRows = 10;

/// Rows of the largest tile of so many registers a row. Narrow tiles are taller, to keep enough sums in flight.
constexpr int max_rows(int vectors) {
  const int rows = kSumRegisters / vectors;
  return rows < kMaxRows ? rows : kMaxRows;
}

/// Calls f(i, j) for every register of a tile, unrolled: what f indexes then stays in registers.
template <int rows, int vectors, class F>
[[gnu::always_inline]] inline void for_each_register(F f) {
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) f(i, j);
}

template <class T, int rows, int vectors, Isa isa = kIsa>
void multiply(const Gemm<T>& p) {
  using namespace simd;
  constexpr int kLanes = Simd<T>::kLanes;
  const auto c = [&p](int i, int j) { return p.c + i * p.c_row + j * kLanes; };
  const int last = static_cast<int>(p.n) - (vectors - 1) * kLanes;
  const auto lanes = [last](int j) { return j + 1 < vectors ? kLanes : last; };

  Vec<T> sum[rows][vectors];
  for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] = Vec<T>{}; });
  // Where there is a C already, it has left the cache since the pass before.
  if (p.accumulate) for_each_register<rows, vectors>([&](int i, int j) { __builtin_prefetch(c(i, j), 1); });

  const T* a = p.a;
  const T* b = p.b;
  const std::int64_t a_row = p.a_row, a_col = p.a_col, b_row = p.b_row;
#pragma GCC unroll 2
  for (std::int64_t k = p.k; k > 0; --k, a += a_col, b += b_row) {
    Vec<T> y[vectors];
    for_each_register<1, vectors>([&](int, int j) { y[j] = load(b + j * kLanes); });
    for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] += splat<T>(a[i * a_row]) * y[j]; });
  }

  for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] *= p.alpha; });
  if (p.accumulate) for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] += load_first(c(i, j), lanes(j)); });
  if (p.bias)
    for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] += load_first(p.bias + j * kLanes, lanes(j)); });
  if (p.activation == Activation::relu)
    for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] = max(Vec<T>{}, sum[i][j]); });
  for_each_register<rows, vectors>([&](int i, int j) { store_first(c(i, j), sum[i][j], lanes(j)); });
}

template <class T>
using Function = void (*)(const Gemm<T>&);

template <class T, int rows, int vectors>
constexpr Function<T> function() {
  if constexpr (rows <= max_rows(vectors))
    return multiply<T, rows, vectors>;
  else
    return nullptr;
}

template <class T>
struct Table {
  Function<T> functions[kMaxRows * kMaxVectors];
};

template <class T, Isa isa>
constexpr Table<T> kTable = []<int... i>(std::integer_sequence<int, i...>) {
  return Table<T>{{function<T, i / kMaxVectors + 1, i % kMaxVectors + 1>()...}};
}
(std::make_integer_sequence<int, kMaxRows * kMaxVectors>{});

/// C = epilogue(alpha · A B (+ C)) for one tile. The rows of B must be readable in whole registers.
template <class T>
[[gnu::always_inline]] inline void multiply(const Gemm<T>& p) {
  const std::int64_t vectors = (p.n + Simd<T>::kLanes - 1) / Simd<T>::kLanes;
  kTable<T, kIsa>.functions[(p.m - 1) * kMaxVectors + vectors - 1](p);
}

}  // namespace npzoo::gemm_tile
