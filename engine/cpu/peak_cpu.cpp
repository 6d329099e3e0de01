#include "npzoo/engine/cpu/peak.h"
#include "npzoo/engine/cpu/simd.h"

namespace npzoo {

namespace {

constexpr int kChains = kIsa == Isa::avx512 ? 24 : 12;  // enough to hide the latency, few enough for the registers

template <class T>
T chain(const FmaChains<T>& p) {
  using namespace simd;
  Vec<T> x[kChains];
#pragma GCC unroll 24
  for (int i = 0; i < kChains; ++i) x[i] = splat<T>(static_cast<T>(i));
  for (std::int64_t round = 0; round < p.rounds; ++round)
#pragma GCC unroll 24
    for (int i = 0; i < kChains; ++i) x[i] = x[i] * p.factor + p.summand;
#pragma GCC unroll 24
  for (int i = 1; i < kChains; ++i) x[0] += x[i];
  return sum(x[0]);
}

}  // namespace

template <class T>
void run_fma_chains(Cpu& cpu, const FmaChains<T>& p) {
  cpu.parallel_for(p.chunks, 1, [&p](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) p.sums[i] = chain(p);
  });
  *p.done = 2.0 * kChains * Simd<T>::kLanes * static_cast<double>(p.rounds) * static_cast<double>(p.chunks);
}

template <class T>
void run_triad(Cpu& cpu, const Triad<T>& p) {
  using namespace simd;
  constexpr std::int64_t kLanes = Simd<T>::kLanes, kGrain = 16 * 1024;  // in registers
  cpu.parallel_for(p.n / kLanes, kGrain, [&p](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * kLanes; i < end * kLanes; i += kLanes)
      store(p.a + i, load(p.b + i) + p.factor * load(p.c + i));
  });
  *p.done = 3.0 * sizeof(T) * static_cast<double>(p.n / kLanes * kLanes);
}

NPZOO_INSTANTIATE(run_fma_chains, FmaChains);
NPZOO_INSTANTIATE(run_triad, Triad);

}  // namespace npzoo
