#include <cstring>

#include "engine/cpu/simd.h"
#include "ops/dropout/kernels.h"

namespace npzoo {

template <class T, Isa isa>
void dropout(CpuContext<isa>& cpu, const Dropout<T>& p) {
  cpu.parallel_for((p.n + 3) / 4, 2048, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      RandomState state = p.state;
      state.offset += static_cast<std::uint64_t>(block);
      const auto drawn = philox(state);
      std::uint32_t words[4];
      std::memcpy(words, &drawn,
                  sizeof(words));  // std::array's members would be symbols that all instruction sets share
      const std::int64_t first = 4 * block;
      for (std::int64_t i = first; i < p.n && i < first + 4; ++i)
        p.out[i] = words[i - first] < p.threshold ? T(0) : p.scale * p.x[i];
    }
  });
}

template void dropout(CpuContext<kIsa>&, const Dropout<float>&);
template void dropout(CpuContext<kIsa>&, const Dropout<double>&);

}  // namespace npzoo
