#pragma once

// Code for products of matrices on CPUs between the micro-kernel and the distribution of work to threads. Only kernel
// sources include it.

#include "npzoo/engine/cpu/gemm_tile.h"
#include "npzoo/engine/cpu/transpose.h"
#include "npzoo/engine/memory.h"

namespace npzoo::gemm_block {

using gemm_tile::Pieces;
using namespace simd;

template <class T>
constexpr std::int64_t kLanes = Simd<T>::kLanes;
template <class T>
constexpr std::int64_t kPanel = gemm_tile::kMaxVectors* kLanes<T>;  // columns of B that are packed side by side

template <class T>
std::int64_t padded(std::int64_t columns) {
  return divide_up(columns, kLanes<T>) * kLanes<T>;
}

/// Uninitialised working memory: on the stack if it is small, so that tiny products touch no lock.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t count) {
    if (count <= kLocal) return;
    pooled_ = Buffer(static_cast<std::size_t>(count) * sizeof(T));
    data_ = reinterpret_cast<T*>(pooled_.data());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() { return data_; }

 private:
  static constexpr std::int64_t kLocal = 16384 / sizeof(T);
  alignas(64) T local_[kLocal];
  Buffer pooled_;
  T* data_ = local_;
};

template <class T>
Gemm<T> rows_of(Gemm<T> p, std::int64_t begin, std::int64_t count) {
  p.m = count;
  p.a += begin * p.a_row;
  p.c += begin * p.c_row;
  return p;
}

template <class T>
Gemm<T> columns_of(Gemm<T> p, std::int64_t begin, std::int64_t count) {
  p.n = count;
  p.b += begin * p.b_col;
  if (p.c) p.c += begin;
  if (p.bias) p.bias += begin;
  return p;
}

/// Calls f(columns of p, first column) panel by panel.
template <class T, class F>
void for_panels(const Gemm<T>& p, F f) {
  for (std::int64_t j = 0; j < p.n; j += kPanel<T>) f(columns_of(p, j, min(kPanel<T>, p.n - j)), j);
}

/// Copies B, at most kPanel columns of it, to k rows of whole registers, filled up with 0.
template <class T>
void pack_panel(const Gemm<T>& p, T* out) {
  const std::int64_t width = padded<T>(p.n);
  for (std::int64_t j = 0; j < p.n; j += kLanes<T>) {
    const int columns = static_cast<int>(min(kLanes<T>, p.n - j));
    const T* b = p.b + j * p.b_col;
    if (p.b_col == 1) {
      for (std::int64_t k = 0; k < p.k; ++k) store(out + k * width + j, load_first(b + k * p.b_row, columns));
    } else {
      for (std::int64_t k = 0; k < p.k; k += kLanes<T>)
        transpose_square(b + k, p.b_col, columns, static_cast<int>(min(kLanes<T>, p.k - k)), out + k * width + j,
                         width);
    }
  }
}

/// Whether tiles can read B where it lies: whole registers, and few or short rows, so that packing would not pay.
template <class T>
bool reads_in_place(const Gemm<T>& p) {
  constexpr std::int64_t kFewRows = 40, kShort = 512 / sizeof(T), kShortStride = 1024 / sizeof(T);
  if (p.b_col != 1 || p.n % kLanes<T> != 0) return false;
  return p.m <= kFewRows || (p.n <= kShort && p.b_row <= kShortStride);
}

/// A panel whose sums need nothing but a start and a relu, in whole registers; false if it is another one.
template <class T>
bool multiply_whole_registers(const Gemm<T>& p, const Pieces& pieces = {}) {
  using gemm_tile::Start;
  const bool finished = p.activation == Activation::none;
  if (p.alpha != 1 || p.n % kLanes<T> != 0 || (p.accumulate ? p.bias || !finished : !p.bias && !finished)) return false;
  const gemm_tile::Registers<T> product{
      p.k, p.a, p.a_row, p.a_col, p.b, p.b_row, p.c, p.c_row, p.bias, p.activation == Activation::relu, pieces};
  const int vectors = static_cast<int>(p.n / kLanes<T>);
  if (p.accumulate)
    gemm_tile::multiply_registers<T, Start::c>(p.m, vectors, product);
  else if (p.bias)
    gemm_tile::multiply_registers<T, Start::bias>(p.m, vectors, product);
  else
    gemm_tile::multiply_registers<T, Start::zero>(p.m, vectors, product);
  return true;
}

/// A panel of any width. B must be readable in whole registers.
template <class T>
void multiply_panel(const Gemm<T>& p, const Pieces& pieces) {
  if (multiply_whole_registers(p, pieces)) return;
  const int vectors = static_cast<int>(divide_up(p.n, kLanes<T>));
  gemm_tile::for_row_tiles(p.m, gemm_tile::max_rows(vectors), [&](std::int64_t first, std::int64_t rows) {
    gemm_tile::multiply(rows_of(p, first, rows), pieces);
  });
}

}  // namespace npzoo::gemm_block
