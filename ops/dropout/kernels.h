#pragma once

#include "npzoo/engine/kernel.h"
#include "npzoo/engine/random.h"

namespace npzoo {

/// out = scale · x where the random word is at least `threshold`, else 0; x (tasks, each).
template <class T>
struct Dropout {
  std::int64_t tasks, each;
  std::uint32_t threshold;
  T scale;
  const std::int64_t* generator;  // as Draws::generator
  const T* x;
  T* out;
};

NPZOO_KERNEL(dropout, Dropout);

}  // namespace npzoo
