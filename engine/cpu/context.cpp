#include "npzoo/engine/cpu/context.h"

#include <algorithm>
#include <cstdlib>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr Isa kAll[] = {Isa::generic, Isa::avx2, Isa::avx512};

CpuFeatures features_here() {
  CpuFeatures here;
#if defined(__x86_64__)
  __builtin_cpu_init();
  here.avx2 = __builtin_cpu_supports("avx2");
  here.fma = __builtin_cpu_supports("fma");
  here.bmi2 = __builtin_cpu_supports("bmi2");
  here.avx512f = __builtin_cpu_supports("avx512f");
  here.avx512bw = __builtin_cpu_supports("avx512bw");
  here.avx512cd = __builtin_cpu_supports("avx512cd");
  here.avx512dq = __builtin_cpu_supports("avx512dq");
  here.avx512vl = __builtin_cpu_supports("avx512vl");
#endif
  return here;
}

/// Throws Error for generic kernels that a build for one kind of processor lacks.
Isa built(Isa isa) {
  check(isa != Isa::generic || kHasGeneric,
        "[cpu] generic kernels found, expected {}: this build has no others; build without -Disas=only-native",
        kHasAvx512 ? "AVX-512" : "AVX2");
  return isa;
}

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::generic: return "generic";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
  }
  return "unknown";
}

Isa best_isa(const CpuFeatures& has, bool has_avx2, bool has_avx512) {
  const bool avx2 = has.avx2 && has.fma && has.bmi2;
  const bool avx512 = avx2 && has.avx512f && has.avx512bw && has.avx512cd && has.avx512dq && has.avx512vl;
  if (has_avx512 && avx512) return Isa::avx512;
  if (has_avx2 && avx2) return Isa::avx2;
  return Isa::generic;
}

Isa lowered_isa(Isa best, const char* wish) {
  if (!wish) return best;
  for (Isa isa : kAll)
    if (to_string(isa) == wish) return std::min(isa, best);
  fail("[cpu] NPZOO_ISA is '{}', expected generic, avx2 or avx512", wish);
}

Isa active_isa() {
  static const Isa isa = built(lowered_isa(best_isa(features_here()), std::getenv("NPZOO_ISA")));
  return isa;
}

}  // namespace npzoo
