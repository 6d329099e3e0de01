#include <cstring>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/gather/kernels.h"

namespace npzoo {

template <class T>
void gather_forward(Cpu& cpu, const GatherForward<T>& p) {
  cpu.parallel_for(p.batch * p.picks, 1 + 16384 / (1 + p.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t point = i / p.picks * p.points + p.index[i];
      std::memcpy(p.out + i * p.width, p.x + point * p.width, sizeof(T) * p.width);
    }
  });
}

template <class T>
void gather_backward(Cpu& cpu, const GatherBackward<T>& p) {
  cpu.parallel_for(p.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      T* d_x = p.d_x + b * p.points * p.width;
      if (!p.accumulate) std::memset(d_x, 0, sizeof(T) * p.points * p.width);
      for (std::int64_t i = b * p.picks; i < (b + 1) * p.picks; ++i) {
        const T* from = p.d_out + i * p.width;
        T* to = d_x + p.index[i] * p.width;
        for (std::int64_t j = 0; j < p.width; ++j) to[j] += from[j];
      }
    }
  });
}

NPZOO_INSTANTIATE(gather_forward, GatherForward);
NPZOO_INSTANTIATE(gather_backward, GatherBackward);

}  // namespace npzoo
