#include <cstring>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/concat/kernels.h"

namespace npzoo {

template <class T>
void copy_rows(Cpu& cpu, const CopyRows<T>& p) {
  if (p.width == 0) return;
  cpu.parallel_for(p.rows, 1 + 16384 / p.width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* x = p.x + row * p.x_step;
      T* out = p.out + row * p.out_step;
      if (p.accumulate) {
        for (std::int64_t i = 0; i < p.width; ++i) out[i] += x[i];
      } else if (p.x) {
        std::memcpy(out, x, sizeof(T) * p.width);
      } else {
        std::memset(out, 0, sizeof(T) * p.width);
      }
    }
  });
}

NPZOO_INSTANTIATE(copy_rows, CopyRows);

}  // namespace npzoo
