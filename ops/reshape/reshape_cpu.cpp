#include <cstring>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/reshape/kernels.h"

namespace npzoo {

template <class T>
void broadcast_copy(Cpu& cpu, const BroadcastCopy<T>& p) {
  const int last = p.rank - 1;
  const std::int64_t width = p.extent[last];
  std::int64_t rows = 1;
  for (int axis = 0; axis < last; ++axis) rows *= p.extent[axis];

  cpu.parallel_for(rows, 1 + 16384 / width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t rest = row, offset = 0;
      for (int axis = last - 1; axis >= 0; --axis) {
        offset += rest % p.extent[axis] * p.stride[axis];
        rest /= p.extent[axis];
      }
      const T* x = p.x + offset;
      T* out = p.out + row * width;
      if (p.stride[last] == 1) {
        std::memcpy(out, x, sizeof(T) * width);
      } else {
        for (std::int64_t i = 0; i < width; ++i) out[i] = *x;
      }
    }
  });
}

NPZOO_INSTANTIATE(broadcast_copy, BroadcastCopy);

}  // namespace npzoo
