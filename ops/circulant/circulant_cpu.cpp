#include <algorithm>
#include <cstring>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/circulant/kernels.h"

namespace npzoo {

template <class T>
void circulant_forward(Cpu& cpu, const CirculantForward<T>& p) {
  cpu.parallel_for(p.batch * p.length, 1 + 16384 / (1 + p.length), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t t = row % p.length;
      const T* a = p.a + row / p.length * p.length;
      T* out = p.out + row * p.length;
      std::memcpy(out, a + p.length - t, sizeof(T) * t);
      std::memcpy(out + t, a, sizeof(T) * (p.length - t));
    }
  });
}

template <class T>
void circulant_add_up(Cpu& cpu, const CirculantSums<T>& p) {
  constexpr std::int64_t kShifts = 64;  // that one thread adds up at a time
  const std::int64_t blocks = (p.length + kShifts - 1) / kShifts;
  cpu.parallel_for(p.batch * blocks, 1 + 256 / (1 + p.length), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t b = block / blocks, first = block % blocks * kShifts,
                         count = std::min(kShifts, p.length - first);
      double sums[kShifts] = {};
      for (std::int64_t t = 0; t < p.length; ++t) {
        const T* row = p.x + (b * p.length + t) * p.length;
        const std::int64_t from = (t + first) % p.length, before_end = std::min(count, p.length - from);
        for (std::int64_t i = 0; i < before_end; ++i) sums[i] += static_cast<double>(row[from + i]);
        for (std::int64_t i = before_end; i < count; ++i) sums[i] += static_cast<double>(row[i - before_end]);
      }
      for (std::int64_t i = 0; i < count; ++i) p.out[b * p.length + first + i] = static_cast<T>(sums[i]);
    }
  });
}

NPZOO_INSTANTIATE(circulant_forward, CirculantForward);
NPZOO_INSTANTIATE(circulant_add_up, CirculantSums);

}  // namespace npzoo
