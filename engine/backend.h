#pragma once

#include <functional>
#include <initializer_list>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/kernel.h"
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

/// Calls f(backend) for the active GPU, within a turn of this thread (see GpuTurn). Throws Interrupted, and starts
/// nothing, after a stop was requested.
template <class F>
void with_cuda(F&& f) {
  throw_if_stopped();
  const GpuTurn turn;
  f(Backend(active_gpu()));
}

/// Calls f(backend) for the instruction set in use.
template <class F>
void with_cpu(F&& f) {
  f(Backend(active_isa(), thread_pool()));
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

/// Calls `f<T>(backend)` for the dtype and device of `x`: the one place where the dtype becomes a type. Throws Error
/// for integer tensors. Within `f`, Tensor::data throws Error, opened by `[operation]`, for tensors on another device.
template <class F>
void run(const char* operation, const Tensor& x, F&& f) {
  const KernelArguments gathered(operation, x.device());
  with_float_dtype(x.dtype(), [&]<class T>() {
    const auto call = [&](const Backend& backend) { f.template operator()<T>(backend); };
    x.device() == Device::cuda ? with_cuda(call) : with_cpu(call);
  });
}

/// The same for kernels that exist for CUDA devices alone.
template <class F>
void run_on_cuda(const char* operation, const Tensor& x, F&& f) {
  const KernelArguments gathered(operation, Device::cuda);
  with_float_dtype(x.dtype(),
                   [&]<class T>() { with_cuda([&](const Backend& backend) { f.template operator()<T>(backend); }); });
}

}  // namespace npzoo
