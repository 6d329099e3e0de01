#pragma once

#include "engine/cpu/context.h"
#include "engine/tensor.h"

namespace npzoo {

/// Calls `f<T>(context)` for the dtype and device of `x`: the one place where run-time dtype, device and instruction
/// set become types. Throws Error for integer tensors.
template <class F>
void run(const Tensor& x, F&& f) {
  const auto with_context = [&]<class T>() {
    if constexpr (kHasAvx512) {
      if (active_isa() == Isa::avx512) {
        CpuContext<Isa::avx512> cpu{thread_pool()};
        return f.template operator()<T>(cpu);
      }
    }
    if constexpr (kHasAvx2) {
      if (active_isa() == Isa::avx2) {
        CpuContext<Isa::avx2> cpu{thread_pool()};
        return f.template operator()<T>(cpu);
      }
    }
    CpuContext<Isa::generic> cpu{thread_pool()};
    return f.template operator()<T>(cpu);
  };
  switch (x.dtype()) {
    case DType::float32: return with_context.template operator()<float>();
    case DType::float64: return with_context.template operator()<double>();
    case DType::int64: fail("[backend] expected float32 or float64 elements, found int64");
  }
}

}  // namespace npzoo
