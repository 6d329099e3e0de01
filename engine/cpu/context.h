#pragma once

#include <cstdint>
#include <string_view>

#include "engine/config.h"
#include "engine/parallel.h"

namespace npzoo {

/// Instruction sets that kernels are built for: what every x86-64-v2 machine (or any other architecture) has,
/// AVX2 with FMA (x86-64-v3), AVX-512 (x86-64-v4).
enum class Isa { generic, avx2, avx512 };

std::string_view to_string(Isa isa);

/// The best one that this build has and this machine runs; the environment variable NPZOO_ISA can only lower it.
Isa active_isa();

/// What a CPU kernel runs on. The instruction set is part of the type: the same kernel source is compiled once for
/// each, and the overloads stay apart.
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
