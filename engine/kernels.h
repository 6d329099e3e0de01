#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/cpu/context.h"
#include "engine/cuda/context.h"

namespace npzoo {

/// y += x for n elements.
template <class T>
struct AddInto {
  std::int64_t n;
  const T* x;
  T* y;
};

template <class T, Isa isa>
void add_into(CpuContext<isa>& cpu, const AddInto<T>& p);
template <class T, Gpu gpu>
void add_into(CudaContext<gpu>& cuda, const AddInto<T>& p);

/// x is (outer, middle, inner); y (outer, inner) is its sum over the middle. Summed in double, in an order that depends
/// on the extents alone. middle = 0 gives zeros.
template <class T>
struct SumMiddle {
  std::int64_t outer, middle, inner;
  const T* x;
  T* y;
};

template <class T, Isa isa>
void sum_middle(CpuContext<isa>& cpu, const SumMiddle<T>& p);
template <class T, Gpu gpu>
void sum_middle(CudaContext<gpu>& cuda, const SumMiddle<T>& p);

template <class T>
struct Fill {
  std::int64_t n;
  T value;
  T* x;
};

template <class T, Gpu gpu>
void fill(CudaContext<gpu>& cuda, const Fill<T>& p);

/// From float to double, or back.
template <class T>
struct Convert {
  std::int64_t n;
  const T* x;
  std::conditional_t<std::is_same_v<T, float>, double, float>* y;
};

template <class T, Gpu gpu>
void convert(CudaContext<gpu>& cuda, const Convert<T>& p);

}  // namespace npzoo
