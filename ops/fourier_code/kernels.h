#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

/// x is (n), out (n, width).
template <class T>
struct FourierCode {
  std::int64_t n, width;
  const T* x;
  T* out;
};

NPZOO_KERNEL(fourier_code, FourierCode);

}  // namespace npzoo
