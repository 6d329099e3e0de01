#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/max_pool/kernels.h"

namespace npzoo {

template <class T>
void max_pool_forward(Cpu& cpu, const MaxPoolForward<T>& p) {
  const PoolWindows& at = p.at;
  cpu.parallel_for(at.batch * at.out_length, 1 + 4096 / (1 + at.channels), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* x = p.x + row / at.out_length * at.length * at.channels;
      for (std::int64_t c = 0; c < at.channels; ++c)
        p.y[row * at.channels + c] = x[largest_in_window(at, x + c, row % at.out_length) * at.channels + c];
    }
  });
}

template <class T>
void max_pool_backward(Cpu& cpu, const MaxPoolBackward<T>& p) {
  const PoolWindows& at = p.at;
  cpu.parallel_for(at.batch * at.length, 1 + 4096 / (1 + at.channels), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t b = row / at.length;
      const T *x = p.x + b * at.length * at.channels, *d_y = p.d_y + b * at.out_length * at.channels;
      for (std::int64_t c = 0; c < at.channels; ++c)
        p.d_x[row * at.channels + c] = gradient_of_step(p, x + c, d_y + c, row % at.length);
    }
  });
}

NPZOO_INSTANTIATE(max_pool_forward, MaxPoolForward);
NPZOO_INSTANTIATE(max_pool_backward, MaxPoolBackward);

}  // namespace npzoo
