#pragma once

#include "engine/cpu/context.h"
#include "engine/cuda/context.h"

namespace npzoo {

/// `rows` runs of `width` elements; the next run starts `x_step` and `out_step` elements further.
template <class T>
struct CopyRows {
  std::int64_t rows, width;
  const T* x;  // null: zeros
  std::int64_t x_step;
  T* out;
  std::int64_t out_step;
  bool accumulate = false;  // adds instead of overwriting
};

template <class T, Isa isa>
void copy_rows(CpuContext<isa>& cpu, const CopyRows<T>& p);
template <class T, Gpu gpu>
void copy_rows(CudaContext<gpu>& cuda, const CopyRows<T>& p);

}  // namespace npzoo
