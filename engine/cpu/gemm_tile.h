#pragma once

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/engine/gemm.h"

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

/// Calls f(first row, rows) for tiles of almost equal height that cover m rows.
template <class F>
[[gnu::always_inline]] inline void for_row_tiles(std::int64_t m, int most, F f) {
  const std::int64_t tiles = simd::divide_up(m, most), height = tiles > 0 ? m / tiles : 0, taller = m - tiles * height;
  for (std::int64_t i = 0, row = 0; i < tiles; ++i) {
    const std::int64_t rows = height + (i < taller);
    f(row, rows);
    row += rows;
  }
}

/// Calls f(i, j) for every register of a tile, unrolled: what f indexes then stays in registers.
template <int rows, int vectors, class F>
[[gnu::always_inline]] inline void for_each_register(F f) {
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) f(i, j);
}

/// sum += A B, where A (rows, k) is read element by element and B (k, vectors registers) in whole registers.
template <class T, int rows, int vectors>
[[gnu::always_inline]] inline void add_product(Vec<T> (&sum)[rows][vectors], std::int64_t k, const T* a,
                                               std::int64_t a_row, std::int64_t a_col, const T* b, std::int64_t b_row) {
#pragma GCC unroll 2
  for (; k > 0; --k, a += a_col, b += b_row) {
    Vec<T> y[vectors];
    for_each_register<1, vectors>([&](int, int j) { y[j] = simd::load(b + j * Simd<T>::kLanes); });
    for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] += simd::splat<T>(a[i * a_row]) * y[j]; });
  }
}

/// The reduction of several products of the same k, whose A and B lie `a_step` and `b_step` elements apart, into one.
struct Pieces {
  std::int64_t count = 1, a_step = 0, b_step = 0;
};

template <class T, int rows, int vectors>
void multiply(const Gemm<T>& p, const Pieces& pieces) {
  using namespace simd;
  constexpr int kLanes = Simd<T>::kLanes;
  const auto c = [&p](int i, int j) { return p.c + i * p.c_row + j * kLanes; };
  const int last = static_cast<int>(p.n) - (vectors - 1) * kLanes;
  const auto lanes = [last](int j) { return j + 1 < vectors ? kLanes : last; };

  Vec<T> sum[rows][vectors];
  for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] = Vec<T>{}; });
  // An existing C has left the cache since the last pass.
  if (p.accumulate) for_each_register<rows, vectors>([&](int i, int j) { __builtin_prefetch(c(i, j), 1); });
  for (std::int64_t i = 0; i < pieces.count; ++i)
    add_product(sum, p.k, p.a + i * pieces.a_step, p.a_row, p.a_col, p.b + i * pieces.b_step, p.b_row);

  for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] *= p.alpha; });
  if (p.accumulate) for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] += load_first(c(i, j), lanes(j)); });
  if (p.bias)
    for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] += load_first(p.bias + j * kLanes, lanes(j)); });
  if (p.activation == Activation::relu)
    for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] = max(Vec<T>{}, sum[i][j]); });
  for_each_register<rows, vectors>([&](int i, int j) { store_first(c(i, j), sum[i][j], lanes(j)); });
}

template <class T>
using Function = void (*)(const Gemm<T>&, const Pieces&);

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

template <class T>
constexpr Table<T> kTable = []<int... i>(std::integer_sequence<int, i...>) {
  return Table<T>{{function<T, i / kMaxVectors + 1, i % kMaxVectors + 1>()...}};
}
(std::make_integer_sequence<int, kMaxRows * kMaxVectors>{});

/// C = epilogue(alpha · A B (+ C)) for one tile. The rows of B must be readable in whole registers.
template <class T>
[[gnu::always_inline]] inline void multiply(const Gemm<T>& p, const Pieces& pieces) {
  const std::int64_t vectors = (p.n + Simd<T>::kLanes - 1) / Simd<T>::kLanes;
  kTable<T>.functions[(p.m - 1) * kMaxVectors + vectors - 1](p, pieces);
}

/// The value that a product of whole registers is added to: 0, C, or one row for all rows.
enum class Start : std::uint8_t { zero, c, bias };

/// C = start + A B, where B, C and bias consist of whole registers. C itself is added last: a long sum that is cut into
/// parts then rounds no more than its parts do.
template <class T>
struct Registers {
  std::int64_t k;
  const T* a;
  std::int64_t a_row, a_col;
  const T* b;
  std::int64_t b_row;
  T* c;
  std::int64_t c_row;
  const T* bias = nullptr;
  bool relu = false;  // of sums that start from a bias
  Pieces pieces = {};
};

/// `tiles` tiles of `rows` rows, one below the other, from row `first` on.
template <class T, int rows, int vectors, Start start>
void multiply_registers(const Registers<T>& p, std::int64_t first, std::int64_t tiles) {
  constexpr int kLanes = Simd<T>::kLanes;
  const T* a = p.a + first * p.a_row;
  T* c = p.c + first * p.c_row;
  for (; tiles > 0; --tiles, a += rows * p.a_row, c += rows * p.c_row) {
    Vec<T> sum[rows][vectors];
    for_each_register<rows, vectors>(
        [&](int i, int j) { sum[i][j] = start == Start::bias ? simd::load(p.bias + j * kLanes) : Vec<T>{}; });
    for (std::int64_t i = 0; i < p.pieces.count; ++i)
      add_product(sum, p.k, a + i * p.pieces.a_step, p.a_row, p.a_col, p.b + i * p.pieces.b_step, p.b_row);
    if constexpr (start == Start::c)
      for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] += simd::load(c + i * p.c_row + j * kLanes); });
    if (start == Start::bias && p.relu)
      for_each_register<rows, vectors>([&](int i, int j) { sum[i][j] = simd::max(Vec<T>{}, sum[i][j]); });
    for_each_register<rows, vectors>([&](int i, int j) { simd::store(c + i * p.c_row + j * kLanes, sum[i][j]); });
  }
}

template <class T>
using RegistersFunction = void (*)(const Registers<T>&, std::int64_t first, std::int64_t tiles);

template <class T, int rows, int vectors, Start start>
constexpr RegistersFunction<T> registers_function() {
  if constexpr (rows <= max_rows(vectors))
    return multiply_registers<T, rows, vectors, start>;
  else
    return nullptr;
}

template <class T>
struct RegistersTable {
  RegistersFunction<T> functions[kMaxRows * kMaxVectors];
};

template <class T, Start start>
constexpr RegistersTable<T> kRegistersTable = []<int... i>(std::integer_sequence<int, i...>) {
  return RegistersTable<T>{{registers_function<T, i / kMaxVectors + 1, i % kMaxVectors + 1, start>()...}};
}
(std::make_integer_sequence<int, kMaxRows * kMaxVectors>{});

/// The product over m rows and `vectors` registers a row, at most kMaxVectors.
template <class T, Start start>
[[gnu::always_inline]] inline void multiply_registers(std::int64_t m, int vectors, const Registers<T>& p) {
  const std::int64_t tiles = simd::divide_up(m, max_rows(vectors)), rows = m / simd::max(tiles, 1),
                     taller = m - tiles * rows;
  const auto multiply_tiles = [&](std::int64_t height, std::int64_t first, std::int64_t count) {
    if (count > 0) kRegistersTable<T, start>.functions[(height - 1) * kMaxVectors + vectors - 1](p, first, count);
  };
  multiply_tiles(rows + 1, 0, taller);
  multiply_tiles(rows, taller * (rows + 1), tiles - taller);
}

}  // namespace npzoo::gemm_tile
