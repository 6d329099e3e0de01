#include "engine/cpu/context.h"

#include <algorithm>
#include <cstdlib>

#include "engine/error.h"

namespace npzoo {

namespace {

constexpr Isa kAll[] = {Isa::generic, Isa::avx2, Isa::avx512};

Isa best_here() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  if (kHasAvx512 && avx512) return Isa::avx512;
  if (kHasAvx2 && avx2) return Isa::avx2;
#endif
  return Isa::generic;
}

/// Throws Error for generic kernels that a build for one kind of processor lacks.
Isa built(Isa isa) {
  check(isa != Isa::generic || kHasGeneric,
        "[cpu] generic kernels are not in this build, which is for {} alone; build without -Disas=only-native",
        kHasAvx512 ? "AVX-512" : "AVX2");
  return isa;
}

Isa choose() {
  const Isa best = best_here();
  const char* wish = std::getenv("NPZOO_ISA");
  if (!wish) return built(best);
  for (Isa isa : kAll)
    if (to_string(isa) == wish) return built(std::min(isa, best));
  fail("[cpu] NPZOO_ISA is '{}', expected generic, avx2 or avx512", wish);
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

Isa active_isa() {
  static const Isa isa = choose();
  return isa;
}

}  // namespace npzoo
