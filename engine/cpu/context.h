#pragma once

#include <cstdint>
#include <string_view>

#include "npzoo/engine/config.h"
#include "npzoo/engine/parallel.h"

namespace npzoo {

/// Instruction sets that kernels are built for: what every x86-64-v2 machine (or any other architecture) has,
/// AVX2 with FMA (x86-64-v3), AVX-512 (x86-64-v4).
enum class Isa { generic, avx2, avx512 };

std::string_view to_string(Isa isa);

/// The features of a processor that kernels of avx2 and avx512 use.
struct CpuFeatures {
  bool avx2 = false, fma = false, bmi2 = false;
  bool avx512f = false, avx512bw = false, avx512cd = false, avx512dq = false, avx512vl = false;
};

/// Returns the best instruction set that a processor with these features runs, of those that the build has.
Isa best_isa(const CpuFeatures& features, bool has_avx2 = kHasAvx2, bool has_avx512 = kHasAvx512);
/// Returns `best`, or a lower one if `wish` (NPZOO_ISA; null: no wish) names it. Throws Error for another name.
Isa lowered_isa(Isa best, const char* wish);

/// Returns the best instruction set that this build has and this machine runs; the environment variable NPZOO_ISA can
/// only lower it.
Isa active_isa();

/// The context of a CPU kernel, compiled for an instruction set. Kernel sources, which are compiled once for each, call
/// theirs `Cpu` (npzoo/engine/cpu/simd.h).
template <Isa isa>
struct CpuContext {
  ThreadPool& pool;

  /// See ThreadPool::for_range.
  template <class F>
  void parallel_for(std::int64_t n, std::int64_t grain, F&& body) const {
    pool.for_range(n, grain, body);
  }
};

}  // namespace npzoo
