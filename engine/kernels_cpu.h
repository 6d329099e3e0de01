#pragma once

#include <cstdint>

#include "engine/cpu/context.h"

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

}  // namespace npzoo
