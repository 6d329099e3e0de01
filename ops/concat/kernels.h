#pragma once

#include "npzoo/engine/kernel.h"

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

NPZOO_KERNEL(copy_rows, CopyRows);

}  // namespace npzoo
