#pragma once

#include "npzoo/engine/cpu/context.h"
#include "npzoo/engine/cuda/context.h"

/// Declares a kernel for CPUs and GPUs: `name<T>(context, p)` with `Params<T> p`, T being float or double. The second
/// and the third declare one that either alone has.
#define NPZOO_KERNEL(name, Params) \
  NPZOO_CPU_KERNEL(name, Params);  \
  NPZOO_CUDA_KERNEL(name, Params)
#define NPZOO_CPU_KERNEL(name, Params) \
  template <class T, Isa isa>          \
  void name(CpuContext<isa>& cpu, const Params<T>& p)
#define NPZOO_CUDA_KERNEL(name, Params) \
  template <class T, Gpu gpu>           \
  void name(CudaContext<gpu>& cuda, const Params<T>& p)

/// Instantiates a kernel, behind its definition in a kernel source, for the target that the source is compiled for.
#define NPZOO_INSTANTIATE(name, Params)                     \
  template void name(KernelContext&, const Params<float>&); \
  template void name(KernelContext&, const Params<double>&)
