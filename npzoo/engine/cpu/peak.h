#pragma once

#include <cstdint>

#include "npzoo/engine/cpu/context.h"

namespace npzoo {

/// What `threads` cores reach in float32 multiply-adds on registers with the active instruction set, in GFLOP/s: the
/// limit that shares of peak refer to. Takes about 0.1 s; other programs on the machine lower it.
double measure_peak_gflops(int threads);

/// What `threads` cores stream from and to main memory in a = b + s·c over arrays far larger than caches, in GB/s;
/// three elements count for each step. Takes about half a second and 400 MB.
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
