#include "engine/cpu/normal_distribution.h"
#include "ops/geglu/kernels.h"

namespace npzoo {

namespace {

using namespace simd;

constexpr std::int64_t kGrain = 1 << 13;  // pairs that are worth handing to another thread

/// Calls f(get, put) for every vector of a row: `get(p)` loads from p + i, `put(p, x)` stores there.
template <class T, class F>
[[gnu::always_inline]] inline void for_row(std::int64_t width, F f) {
  constexpr int kLanes = Simd<T>::kLanes;
  std::int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes)
    f([i](const T* p) { return load(p + i); }, [i](T* p, Vec<T> x) { store(p + i, x); });
  if (const int rest = static_cast<int>(width - i); rest > 0)
    f([i, rest](const T* p) { return load_first(p + i, rest); },
      [i, rest](T* p, Vec<T> x) { store_first(p + i, x, rest); });
}

}  // namespace

template <class T, Isa isa>
void geglu_forward(CpuContext<isa>& cpu, const GegluForward<T>& p) {
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

template <class T, Isa isa>
void geglu_backward(CpuContext<isa>& cpu, const GegluBackward<T>& p) {
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

template void geglu_forward(CpuContext<kIsa>&, const GegluForward<float>&);
template void geglu_forward(CpuContext<kIsa>&, const GegluForward<double>&);
template void geglu_backward(CpuContext<kIsa>&, const GegluBackward<float>&);
template void geglu_backward(CpuContext<kIsa>&, const GegluBackward<double>&);

}  // namespace npzoo
