#include "engine/cuda/pack.h"
#include "engine/philox.h"
#include "ops/dropout/kernels.h"

namespace npzoo {

template <class T, Gpu gpu>
void dropout(CudaContext<gpu>& cuda, const Dropout<T>& p) {
  const bool packed = starts_packs(p.x, p.out);
  for_each(cuda, "dropout", divide_up(p.n, 4), [p, packed] __device__(std::int64_t block) {
    constexpr int kSize = kPack<T>;
    RandomState state = p.state;
    state.offset += static_cast<std::uint64_t>(block);
    std::uint32_t words[4];
    philox_words(state, words);
    const std::int64_t first = 4 * block;
    if (packed && first + 4 <= p.n) {
      for (int begin = 0; begin < 4; begin += kSize) {
        auto pack = load<kSize>(p.x + first + begin);
        for (int lane = 0; lane < kSize; ++lane)
          pack.lane[lane] = words[begin + lane] < p.threshold ? T(0) : p.scale * pack.lane[lane];
        store(p.out + first + begin, pack);
      }
    } else {
      for (int i = 0; i < 4; ++i)
        if (first + i < p.n) p.out[first + i] = words[i] < p.threshold ? T(0) : p.scale * p.x[first + i];
    }
  });
}

template void dropout(CudaContext<kGpu>&, const Dropout<float>&);
template void dropout(CudaContext<kGpu>&, const Dropout<double>&);

}  // namespace npzoo
