#pragma once

// For kernels with one text for CPUs and GPUs, in sources named *_kernels.cpp. Such a source is compiled once for each
// instruction set and for each kind of GPU. Included by kernel sources only.

#ifdef NPZOO_GPU

#include "npzoo/engine/cuda/launch.h"

/// Marks a function object that kernels call.
#define NPZOO_EACH __device__

namespace npzoo {

namespace {

/// Calls f(row, column) for every row in [0, rows) and column in [0, columns), in any order. `f` captures by value.
template <class F>
void for_each(Cuda& cuda, const char* name, std::int64_t rows, std::int64_t columns, const F& f) {
  for_each(cuda, name, rows * columns,
           [f, columns] __device__(std::int64_t i) { f(i / columns, i - i / columns * columns); });
}

}  // namespace

}  // namespace npzoo

#else

#include <cmath>

#include "npzoo/engine/cpu/simd.h"

#define NPZOO_EACH

namespace npzoo {

namespace {

template <class F>
void for_each(Cpu& cpu, const char* /*name*/, std::int64_t rows, std::int64_t columns, const F& f) {
  constexpr std::int64_t kGrain = 1 << 12;  // elements that are worth handing to another thread
  cpu.parallel_for(rows, 1 + kGrain / (1 + columns), [&f, columns](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t column = 0; column < columns; ++column) f(row, column);
  });
}

inline double sine(double x) { return std::sin(x); }
inline double cosine(double x) { return std::cos(x); }

}  // namespace

}  // namespace npzoo

#endif
