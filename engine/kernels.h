#pragma once

#include <cstdint>
#include <type_traits>

#include "npzoo/engine/kernel.h"

namespace npzoo {

/// y += x for n elements.
template <class T>
struct AddInto {
  std::int64_t n;
  const T* x;
  T* y;
};

NPZOO_KERNEL(add_into, AddInto);

/// Sums x (outer, middle, inner) over the middle and multiplies by `factor`. Both are done in double, in an order that
/// depends on the extents alone. The result (outer, inner) goes to `y`, rounded, or to `wide`; the other one is null.
/// middle = 0 gives zeros.
template <class T>
struct SumMiddle {
  std::int64_t outer, middle, inner;
  const T* x;
  T* y;
  double* wide = nullptr;
  double factor = 1;
};

NPZOO_KERNEL(sum_middle, SumMiddle);

template <class T>
struct Fill {
  std::int64_t n;
  T value;
  T* x;
};

NPZOO_CUDA_KERNEL(fill, Fill);

/// Converts from float to double, or back.
template <class T>
struct Convert {
  std::int64_t n;
  const T* x;
  std::conditional_t<std::is_same_v<T, float>, double, float>* y;
};

NPZOO_CUDA_KERNEL(convert, Convert);

}  // namespace npzoo
