#pragma once

#include <functional>
#include <initializer_list>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/cpu/context.h"
#include "npzoo/engine/cuda/context.h"
#include "npzoo/engine/kernel_arguments.h"
#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Throws Error, opened by `[where]`, unless all tensors are on one device. `run` checks its own tensors; this is for
/// functions composed of other operations, so that the message names the function. Integers, which operations bring to
/// the device themselves, and undefined tensors do not count.
inline void check_one_device(const char* where, std::initializer_list<std::reference_wrapper<const Tensor>> tensors) {
  bool on[2] = {};
  for (const Tensor& x : tensors)
    if (x.defined() && x.dtype() != DType::int64) on[x.device() == Device::cuda] = true;
  check(!on[0] || !on[1], "[{}] arguments are on cpu and cuda, expected one device", where);
}

/// Calls f(context) for the active GPU, within a turn of this thread (see GpuTurn). Throws Interrupted, and starts
/// nothing, after a stop was requested.
template <class F>
void with_cuda(F&& f) {
  throw_if_stopped();
  const GpuTurn turn;
  if constexpr (kHasCuda)
    if (active_gpu() == Gpu::nvidia) return f(cuda_context<Gpu::nvidia>());
  if constexpr (kHasEmulator)
    if (active_gpu() == Gpu::emulated) return f(cuda_context<Gpu::emulated>());
}

/// Calls f(context) for the instruction set in use.
template <class F>
void with_cpu(F&& f) {
  if constexpr (kHasAvx512) {
    if (active_isa() == Isa::avx512) {
      CpuContext<Isa::avx512> cpu{thread_pool()};
      return f(cpu);
    }
  }
  if constexpr (kHasAvx2) {
    if (active_isa() == Isa::avx2) {
      CpuContext<Isa::avx2> cpu{thread_pool()};
      return f(cpu);
    }
  }
  if constexpr (kHasGeneric) {
    CpuContext<Isa::generic> cpu{thread_pool()};
    f(cpu);
  }
}

/// Calls f<T>() for a floating-point dtype. Throws Error for integers.
template <class F>
void with_float_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32: return f.template operator()<float>();
    case DType::float64: return f.template operator()<double>();
    case DType::int64: break;
  }
  fail("[backend] expected float32 or float64 elements, found {}", to_string(dtype));
}

/// Calls `f<T>(context)` for the dtype and device of `x`: the one place where run-time dtype, device, instruction set
/// and kind of GPU become types. Throws Error for integer tensors. Within `f`, Tensor::data throws Error, opened by
/// `[operation]`, for tensors on another device.
template <class F>
void run(const char* operation, const Tensor& x, F&& f) {
  const KernelArguments gathered(operation, x.device());
  with_float_dtype(x.dtype(), [&]<class T>() {
    const auto call = [&](auto& context) { f.template operator()<T>(context); };
    x.device() == Device::cuda ? with_cuda(call) : with_cpu(call);
  });
}

/// The same for kernels that exist for CUDA devices alone.
template <class F>
void run_on_cuda(const char* operation, const Tensor& x, F&& f) {
  const KernelArguments gathered(operation, Device::cuda);
  with_float_dtype(x.dtype(), [&]<class T>() { with_cuda([&](auto& context) { f.template operator()<T>(context); }); });
}

}  // namespace npzoo
