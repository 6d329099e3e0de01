#pragma once

#include <cstdint>

#include "npzoo/engine/kernel.h"

namespace npzoo {

enum class Activation : std::uint8_t { none, relu };

/// C = epilogue(alpha · A B (+ C)), with A (m, k), B (k, n) and C (m, n). A and B are addressed by a row and a column
/// stride, one of which is 1, so a transpose costs nothing. C has unit column stride. k = 0 gives the empty sum.
template <class T>
struct Gemm {
  std::int64_t m, n, k;
  const T* a;
  std::int64_t a_row, a_col;
  const T* b;
  std::int64_t b_row, b_col;
  T* c;
  std::int64_t c_row;
  T alpha = 1;
  bool accumulate = false;  // adds to C instead of overwriting it
  const T* bias = nullptr;  // (n), added to every row
  Activation activation = Activation::none;
};

/// One product, on a CPU shared out over the pool. Results do not depend on the number of threads.
NPZOO_KERNEL(gemm, Gemm);

/// The same on the calling thread, for use inside a parallel loop over many small products.
NPZOO_CPU_KERNEL(gemm_serial, Gemm);

/// `batch` products; the arrays of the next one start `step` elements further. A step of 0 shares the array.
template <class T>
struct BatchedGemm {
  std::int64_t batch;
  std::int64_t a_step, b_step, c_step;
  Gemm<T> one;
};

/// On a GPU by cuBLASLt, in the precision of `matmul_precision`; on an emulated device by the CPU's product.
NPZOO_KERNEL(batched_gemm, BatchedGemm);

}  // namespace npzoo
