#include "npzoo/engine/cpu/peak.h"
#include "npzoo/engine/cpu/simd.h"

namespace npzoo {

namespace {

constexpr int kChains = kIsa == Isa::avx512 ? 24 : 12;  // enough to hide the latency, few enough for the registers

float chain(const FmaChains& p) {
  using namespace simd;
  Vec<float> x[kChains];
#pragma GCC unroll 24
  for (int i = 0; i < kChains; ++i) x[i] = splat<float>(static_cast<float>(i));
  for (std::int64_t round = 0; round < p.rounds; ++round)
#pragma GCC unroll 24
    for (int i = 0; i < kChains; ++i) x[i] = x[i] * p.factor + p.summand;
#pragma GCC unroll 24
  for (int i = 1; i < kChains; ++i) x[0] += x[i];
  return sum(x[0]);
}

}  // namespace

template <Isa isa>
double run_fma_chains(CpuContext<isa>& cpu, const FmaChains& p) {
  cpu.parallel_for(p.chunks, 1, [&p](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) p.sums[i] = chain(p);
  });
  return 2.0 * kChains * Simd<float>::kLanes * static_cast<double>(p.rounds) * static_cast<double>(p.chunks);
}

template <Isa isa>
double run_triad(CpuContext<isa>& cpu, const Triad& p) {
  using namespace simd;
  constexpr std::int64_t kLanes = Simd<float>::kLanes, kGrain = 16 * 1024;  // in registers
  cpu.parallel_for(p.n / kLanes, kGrain, [&p](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * kLanes; i < end * kLanes; i += kLanes)
      store(p.a + i, load(p.b + i) + p.factor * load(p.c + i));
  });
  return 3.0 * sizeof(float) * static_cast<double>(p.n / kLanes * kLanes);
}

template double run_fma_chains(CpuContext<kIsa>&, const FmaChains&);
template double run_triad(CpuContext<kIsa>&, const Triad&);

}  // namespace npzoo
