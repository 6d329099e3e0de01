#pragma once

#include "engine/cpu/gemm.h"

namespace npzoo {

/// `batch` products; the arrays of the next one start `step` elements further. A step of 0 shares the array.
template <class T>
struct BatchedMatmul {
  std::int64_t batch;
  std::int64_t a_step, b_step, c_step;
  Gemm<T> one;
};

template <class T, Isa isa>
void batched_matmul(CpuContext<isa>& cpu, const BatchedMatmul<T>& p);

}  // namespace npzoo
