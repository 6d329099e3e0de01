#pragma once

#include "npzoo/engine/cpu/context.h"
#include "npzoo/engine/cuda/context.h"

namespace npzoo {

/// The instruction set or the GPU on which the kernels of an operation run; `run` (npzoo/engine/backend.h) makes one.
class Backend {
 public:
  /// Kernels for CPUs share the threads of `pool`.
  Backend(Isa isa, ThreadPool& pool) : isa_(isa), pool_(&pool) {}
  explicit Backend(Gpu gpu) : gpu_(gpu) {}

  bool on_gpu() const { return pool_ == nullptr; }

  /// Calls f(context) with a CpuContext of the instruction set, one of those in this build.
  template <class F>
  void with_cpu_context(const F& f) const {
    if constexpr (kHasAvx512)
      if (isa_ == Isa::avx512) return with_isa<Isa::avx512>(f);
    if constexpr (kHasAvx2)
      if (isa_ == Isa::avx2) return with_isa<Isa::avx2>(f);
    if constexpr (kHasGeneric) with_isa<Isa::generic>(f);
  }
  /// Calls f(context) with the CudaContext of the GPU, one of those in this build.
  template <class F>
  void with_cuda_context(const F& f) const {
    if constexpr (kHasCuda)
      if (gpu_ == Gpu::nvidia) return f(cuda_context<Gpu::nvidia>());
    if constexpr (kHasEmulator)
      if (gpu_ == Gpu::emulated) return f(cuda_context<Gpu::emulated>());
  }

 private:
  template <Isa isa, class F>
  void with_isa(const F& f) const {
    CpuContext<isa> cpu{*pool_};
    f(cpu);
  }

  Isa isa_ = Isa::generic;
  Gpu gpu_ = Gpu::nvidia;
  ThreadPool* pool_ = nullptr;
};

}  // namespace npzoo

/// Declares a kernel: `name<T>(backend, p)` with `Params<T> p`, T being float or double, calls the one for that
/// backend. Each backend of the build has to define its own, `name(KernelContext&, const Params<T>&)`; the linker names
/// one that is missing. The second and the third declare a kernel that CPUs or GPUs alone have.
#define NPZOO_KERNEL(name, Params)                                                    \
  NPZOO_CPU_OVERLOADS(name, Params);                                                  \
  NPZOO_CUDA_OVERLOADS(name, Params);                                                 \
  template <class T>                                                                  \
  void name(const Backend& backend, const Params<T>& p) {                             \
    backend.on_gpu() ? backend.with_cuda_context([&p](auto& cuda) { name(cuda, p); }) \
                     : backend.with_cpu_context([&p](auto& cpu) { name(cpu, p); });   \
  }                                                                                   \
  static_assert(true)
#define NPZOO_CPU_KERNEL(name, Params)                           \
  NPZOO_CPU_OVERLOADS(name, Params);                             \
  template <class T>                                             \
  void name(const Backend& backend, const Params<T>& p) {        \
    backend.with_cpu_context([&p](auto& cpu) { name(cpu, p); }); \
  }                                                              \
  static_assert(true)
#define NPZOO_CUDA_KERNEL(name, Params)                             \
  NPZOO_CUDA_OVERLOADS(name, Params);                               \
  template <class T>                                                \
  void name(const Backend& backend, const Params<T>& p) {           \
    backend.with_cuda_context([&p](auto& cuda) { name(cuda, p); }); \
  }                                                                 \
  static_assert(true)

#define NPZOO_CPU_OVERLOADS(name, Params)                 \
  NPZOO_OVERLOAD(CpuContext<Isa::generic>, name, Params); \
  NPZOO_OVERLOAD(CpuContext<Isa::avx2>, name, Params);    \
  NPZOO_OVERLOAD(CpuContext<Isa::avx512>, name, Params)
#define NPZOO_CUDA_OVERLOADS(name, Params)                \
  NPZOO_OVERLOAD(CudaContext<Gpu::nvidia>, name, Params); \
  NPZOO_OVERLOAD(CudaContext<Gpu::emulated>, name, Params)
#define NPZOO_OVERLOAD(Context, name, Params) \
  template <class T>                          \
  void name(Context&, const Params<T>&)

/// Instantiates a kernel, behind its definition in a kernel source, for the backend that the source is compiled for.
#define NPZOO_INSTANTIATE(name, Params)                     \
  template void name(KernelContext&, const Params<float>&); \
  template void name(KernelContext&, const Params<double>&)
