#pragma once

#include <cstdint>

#include "npzoo/engine/kernel.h"

namespace npzoo {

/// Measures the float32 multiply-adds that `threads` cores do on registers with the active instruction set, in GFLOP/s.
/// This is the limit that shares of peak refer to. Takes about 0.1 s; other programs on the machine lower it.
double measure_peak_gflops(int threads);

/// Measures the memory bandwidth of `threads` cores for a = b + s·c over arrays far larger than caches, in GB/s. Three
/// elements count for each step. Takes about half a second and 400 MB.
double measure_bandwidth_gbs(int threads);

/// Independent chains of multiply-adds, in `chunks` equal parts.
template <class T>
struct FmaChains {
  std::int64_t chunks, rounds;
  T factor, summand;
  T* sums;       // one for each chunk, so that nothing is optimised away
  double* done;  // receives the number of floating-point operations
};

NPZOO_CPU_KERNEL(run_fma_chains, FmaChains);

/// a = b + factor · c, n elements each.
template <class T>
struct Triad {
  std::int64_t n;
  T factor;
  const T* b;
  const T* c;
  T* a;
  double* done;  // receives the number of bytes read and written
};

NPZOO_CPU_KERNEL(run_triad, Triad);

}  // namespace npzoo
