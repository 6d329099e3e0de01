#include "npzoo/engine/cpu/lanes.h"
#include "npzoo/engine/cpu/normal_distribution.h"
#include "npzoo/ops/geglu/kernels.h"

namespace npzoo {

namespace {

using namespace simd;

constexpr std::int64_t kGrain = 1 << 13;  // pairs that are worth handing to another thread

}  // namespace

template <class T>
void geglu_forward(Cpu& cpu, const GegluForward<T>& p) {
  if (p.width == 0) return;
  cpu.parallel_for(p.rows, kGrain / p.width + 1, [&p](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T *value = p.x + row * 2 * p.width, *gate = value + p.width;
      T* y = p.y + row * p.width;
      for_row<T>(p.width, [=](auto get, auto put) {
        const Vec<T> z = get(gate);
        put(y, get(value) * (z * normal_cdf(z)));
      });
    }
  });
}

template <class T>
void geglu_backward(Cpu& cpu, const GegluBackward<T>& p) {
  if (p.width == 0) return;
  cpu.parallel_for(p.rows, kGrain / p.width + 1, [&p](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T *value = p.x + row * 2 * p.width, *gate = value + p.width, *d_y = p.d_y + row * p.width;
      T *d_value = p.d_x + row * 2 * p.width, *d_gate = d_value + p.width;
      for_row<T>(p.width, [=](auto get, auto put) {
        const Vec<T> z = get(gate), d = get(d_y), below = normal_cdf(z);
        put(d_value, d * (z * below));
        put(d_gate, d * get(value) * (below + z * normal_density(z)));
      });
    }
  });
}

NPZOO_INSTANTIATE(geglu_forward, GegluForward);
NPZOO_INSTANTIATE(geglu_backward, GegluBackward);

}  // namespace npzoo
