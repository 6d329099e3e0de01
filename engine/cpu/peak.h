#pragma once

#include <cstdint>

#include "npzoo/engine/cpu/context.h"

namespace npzoo {

/// Measures the float32 multiply-adds that `threads` cores do on registers with the active instruction set, in GFLOP/s.
/// This is the limit that shares of peak refer to. Takes about 0.1 s; other programs on the machine lower it.
double measure_peak_gflops(int threads);

/// Measures the memory bandwidth of `threads` cores for a = b + s·c over arrays far larger than caches, in GB/s. Three
/// elements count for each step. Takes about half a second and 400 MB.
double measure_bandwidth_gbs(int threads);

/// Independent chains of multiply-adds, in `chunks` equal parts.
struct FmaChains {
  std::int64_t chunks, rounds;
  float factor, summand;
  float* sums;  // one for each chunk, so that nothing is optimised away
};

/// Returns the number of floating-point operations.
template <Isa isa>
double run_fma_chains(CpuContext<isa>& cpu, const FmaChains& p);

/// a = b + factor · c, n elements each.
struct Triad {
  std::int64_t n;
  float factor;
  const float* b;
  const float* c;
  float* a;
};

/// Returns the number of bytes read and written.
template <Isa isa>
double run_triad(CpuContext<isa>& cpu, const Triad& p);

}  // namespace npzoo
