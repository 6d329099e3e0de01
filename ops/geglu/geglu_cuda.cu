#include "npzoo/engine/cuda/normal_distribution.h"
#include "npzoo/engine/cuda/pack.h"
#include "npzoo/ops/geglu/kernels.h"

namespace npzoo {

namespace {

template <int size, class T>
void forward(Cuda& cuda, const GegluForward<T>& p) {
  const std::int64_t packs = p.width / size;
  for_each(cuda, "geglu", p.rows * packs, [p, packs] __device__(std::int64_t i) {
    const T* value = p.x + i / packs * p.width * 2 + i % packs * size;
    auto y = load<size>(value);
    const auto z = load<size>(value + p.width);
    for (int lane = 0; lane < size; ++lane) y.lane[lane] *= z.lane[lane] * normal_cdf(z.lane[lane]);
    store(p.y + i * size, y);
  });
}

template <int size, class T>
void backward(Cuda& cuda, const GegluBackward<T>& p) {
  const std::int64_t packs = p.width / size;
  for_each(cuda, "geglu_backward", p.rows * packs, [p, packs] __device__(std::int64_t i) {
    const std::int64_t at = i / packs * p.width * 2 + i % packs * size;
    const auto value = load<size>(p.x + at), gate = load<size>(p.x + at + p.width), d_y = load<size>(p.d_y + i * size);
    Pack<T, size> d_value, d_gate;
    for (int lane = 0; lane < size; ++lane) {
      const T z = gate.lane[lane], d = d_y.lane[lane], below = normal_cdf(z);
      d_value.lane[lane] = d * (z * below);
      d_gate.lane[lane] = d * value.lane[lane] * (below + z * normal_density(z));
    }
    store(p.d_x + at, d_value);
    store(p.d_x + at + p.width, d_gate);
  });
}

}  // namespace

template <class T>
void geglu_forward(Cuda& cuda, const GegluForward<T>& p) {
  const bool packed = starts_packs(p.x, p.y) && whole_packs<T>(p.width);
  packed ? forward<kPack<T>>(cuda, p) : forward<1>(cuda, p);
}

template <class T>
void geglu_backward(Cuda& cuda, const GegluBackward<T>& p) {
  const bool packed = starts_packs(p.x, p.d_y, p.d_x) && whole_packs<T>(p.width);
  packed ? backward<kPack<T>>(cuda, p) : backward<1>(cuda, p);
}

NPZOO_INSTANTIATE(geglu_forward, GegluForward);
NPZOO_INSTANTIATE(geglu_backward, GegluBackward);

}  // namespace npzoo
