#include <limits>

#include "npzoo/engine/cpu/lanes.h"
#include "npzoo/ops/softmax/rows.h"
#include "npzoo/ops/top_softmax/kernels.h"

namespace npzoo {

namespace {

/// The greatest element behind place `last` in the order of size, then of place; `last` −1 is before all. −1: none.
template <class T>
std::int64_t next_greatest(const T* by, std::int64_t width, std::int64_t last) {
  std::int64_t best = -1;
  for (std::int64_t i = 0; i < width; ++i) {
    const bool behind = last < 0 ? by[i] == by[i] : by[i] < by[last] || (by[i] == by[last] && i > last);
    if (behind && (best < 0 || by[i] > by[best])) best = i;
  }
  return best;
}

}  // namespace

template <class T>
void top_softmax_forward(Cpu& cpu, const TopSoftmaxForward<T>& p) {
  cpu.parallel_for(p.rows, 1 + 4096 / (1 + p.width * (1 + p.k)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T *x = p.x + row * p.width, *by = p.by + row * p.width;
      T* y = p.y + row * p.width;
      for (std::int64_t i = 0; i < p.width; ++i) y[i] = by[i] == by[i] ? -std::numeric_limits<T>::infinity() : x[i];
      std::int64_t place = -1;
      for (std::int64_t chosen = 0; chosen < p.k; ++chosen) {
        place = next_greatest(by, p.width, place);
        if (place < 0) break;
        y[place] = x[place];
      }
      simd::softmax_row(y, y, p.width);
    }
  });
}

NPZOO_INSTANTIATE(top_softmax_forward, TopSoftmaxForward);

}  // namespace npzoo
