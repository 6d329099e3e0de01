#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

template <class T>
struct CirculantForward {
  std::int64_t batch, length;
  const T* a;  // (batch, length)
  T* out;      // (batch, length, length)
};

template <class T>
struct CirculantSums {
  std::int64_t batch, length;
  const T* x;  // (batch, length, length)
  T* out;      // (batch, length)
};

NPZOO_KERNEL(circulant_forward, CirculantForward);
NPZOO_KERNEL(circulant_add_up, CirculantSums);

}  // namespace npzoo
