#pragma once

#include <cstdint>

#include "npzoo/engine/kernel.h"

namespace npzoo {

enum class Function { exp, expm1, log, log1p, tanh, sigmoid, softplus, erf, sqrt, round };

/// y = f(x) for n elements, by npzoo/engine/cpu/simd_math.h.
template <class T>
struct Probe {
  Function function;
  std::int64_t n;
  const T* x;
  T* y;
};

NPZOO_CPU_KERNEL(probe, Probe);

/// Results of load_first, store_first, sum, largest and transpose for a register: see simd_math_test.cpp.
template <class T>
struct LaneProbe {
  const T* x;  // lanes × lanes
  T* transposed;
  T* first;    // lanes × lanes; row n - 1 gets the first n lanes of row n - 1
  T* sums;     // lanes
  T* largest;  // lanes
  int* lanes;
};

NPZOO_CPU_KERNEL(probe_lanes, LaneProbe);

/// Counts registers that `bytes` fill, by an inline function that the objects of all instruction sets define.
template <class T>
struct RegisterProbe {
  std::int64_t bytes;
  std::int64_t* registers;
};

NPZOO_CPU_KERNEL(count_registers, RegisterProbe);

}  // namespace npzoo
