#include "npzoo/engine/cuda/pack.h"
#include "npzoo/engine/philox.h"
#include "npzoo/ops/dropout/kernels.h"

namespace npzoo {

template <class T>
void dropout(Cuda& cuda, const Dropout<T>& p) {
  const std::int64_t blocks = divide_up(p.each, 4);  // of a task
  const bool packed = starts_packs(p.x, p.out) && p.each % 4 == 0;
  for_each(cuda, "dropout", p.tasks * blocks, [p, packed, blocks] __device__(std::int64_t i) {
    constexpr int kSize = kPack<T>;
    const std::int64_t task = i / blocks, block = i % blocks, first = task * p.each + 4 * block;
    const RandomState state{static_cast<std::uint64_t>(p.generator[0]), static_cast<std::uint64_t>(p.generator[1]),
                            static_cast<std::uint64_t>(p.generator[2]) +
                                static_cast<std::uint64_t>(task) * kBlocksOfATask + static_cast<std::uint64_t>(block)};
    std::uint32_t words[4];
    philox_words(state, words);
    if (packed) {
      for (int begin = 0; begin < 4; begin += kSize) {
        auto pack = load<kSize>(p.x + first + begin);
        for (int lane = 0; lane < kSize; ++lane)
          pack.lane[lane] = words[begin + lane] < p.threshold ? T(0) : p.scale * pack.lane[lane];
        store(p.out + first + begin, pack);
      }
    } else {
      for (int k = 0; k < 4 && 4 * block + k < p.each; ++k)
        p.out[first + k] = words[k] < p.threshold ? T(0) : p.scale * p.x[first + k];
    }
  });
}

NPZOO_INSTANTIATE(dropout, Dropout);

}  // namespace npzoo
