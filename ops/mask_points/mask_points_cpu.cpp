#include <cstring>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/mask_points/kernels.h"

namespace npzoo {

template <class T>
void mask_points(Cpu& cpu, const MaskPoints<T>& p) {
  cpu.parallel_for(p.batch * p.points, 1 + 16384 / (1 + p.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      T* out = p.out + row * p.width;
      if (row % p.points < p.lengths[row / p.points])
        std::memcpy(out, p.x + row * p.width, sizeof(T) * p.width);
      else
        std::memset(out, 0, sizeof(T) * p.width);
    }
  });
}

NPZOO_INSTANTIATE(mask_points, MaskPoints);

}  // namespace npzoo
