#include "npzoo/engine/cpu/lanes.h"
#include "npzoo/engine/cpu/philox_blocks.h"
#include "npzoo/ops/dropout/kernels.h"

namespace npzoo {

namespace {

/// Compares as many words with the threshold as a register has elements of T.
template <class T>
[[gnu::always_inline]] inline typename Simd<T>::Mask below(const std::uint32_t* words, std::uint32_t threshold) {
  typedef std::make_unsigned_t<typename Simd<T>::Integer> Words __attribute__((vector_size(kVectorBytes)));
  typedef std::uint32_t Stored __attribute__((vector_size(kVectorBytes / sizeof(T) * sizeof(std::uint32_t))));
  Stored some;
  __builtin_memcpy(&some, words, sizeof(some));
  return __builtin_convertvector(some, Words) < threshold;
}

}  // namespace

template <class T>
void dropout(Cpu& cpu, const Dropout<T>& p) {
  constexpr std::int64_t kWords = simd::PhiloxLanes::kWords;   // drawn together
  const std::int64_t groups = (p.each + kWords - 1) / kWords;  // of a task
  const RandomState start{static_cast<std::uint64_t>(p.generator[0]), static_cast<std::uint64_t>(p.generator[1]),
                          static_cast<std::uint64_t>(p.generator[2])};
  cpu.parallel_for(p.tasks * groups, 8192 / kWords, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::uint32_t words[kWords];
    for (std::int64_t i = begin, task = begin / groups, group = begin % groups; i < end; ++i, ++group) {
      if (group == groups) {
        group = 0;
        ++task;
      }
      const std::int64_t in_task = group * kWords, first = task * p.each + in_task;
      RandomState state = start;
      state.offset += static_cast<std::uint64_t>(task) * kBlocksOfATask + static_cast<std::uint64_t>(in_task / 4);
      simd::philox_blocks(state, words);
      const std::int64_t count = simd::min(kWords, p.each - in_task);
      for (std::int64_t k = 0; k < count; k += Simd<T>::kLanes) {
        const Vec<T> x = simd::load_up_to(p.x + first + k, count - k);
        const Vec<T> kept = simd::select(below<T>(words + k, p.threshold), Vec<T>{}, x * p.scale);
        simd::store_up_to(p.out + first + k, kept, count - k);
      }
    }
  });
}

NPZOO_INSTANTIATE(dropout, Dropout);

}  // namespace npzoo
