#include <cstring>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/dropout/kernels.h"

namespace npzoo {

template <class T, Isa isa>
void dropout(CpuContext<isa>& cpu, const Dropout<T>& p) {
  const std::int64_t blocks = (p.each + 3) / 4;  // of a task
  const RandomState start{static_cast<std::uint64_t>(p.generator[0]), static_cast<std::uint64_t>(p.generator[1]),
                          static_cast<std::uint64_t>(p.generator[2])};
  cpu.parallel_for(p.tasks * blocks, 2048, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t task = i / blocks, block = i % blocks;
      RandomState state = start;
      state.offset += static_cast<std::uint64_t>(task) * kBlocksOfATask + static_cast<std::uint64_t>(block);
      const auto drawn = philox(state);
      std::uint32_t words[4];
      std::memcpy(words, &drawn,
                  sizeof(words));  // std::array's members would be symbols that all instruction sets share
      const std::int64_t first = task * p.each + 4 * block, count = p.each - 4 * block < 4 ? p.each - 4 * block : 4;
      for (std::int64_t k = 0; k < count; ++k)
        p.out[first + k] = words[k] < p.threshold ? T(0) : p.scale * p.x[first + k];
    }
  });
}

NPZOO_INSTANTIATE(dropout, Dropout);

}  // namespace npzoo
