#include "npzoo/engine/cuda/pack.h"
#include "npzoo/ops/mask_points/kernels.h"

namespace npzoo {

namespace {

template <int size, class T>
void mask_packs(Cuda& cuda, const MaskPoints<T>& p) {
  const std::int64_t packs = p.points * p.width / size;  // of one set
  for_each(cuda, "mask_points", p.batch * packs, [p, packs] __device__(std::int64_t i) {
    const std::int64_t b = i / packs, first = (i - b * packs) * size, visible = p.lengths[b] * p.width - first;
    auto pack = visible >= size ? load<size>(p.x + i * size) : splat<size>(T(0));
    // A pack may hold the end of the last point there is and the start of padding.
    for (int lane = 0; lane < size && visible < size; ++lane)
      if (lane < visible) pack.lane[lane] = p.x[i * size + lane];
    store(p.out + i * size, pack);
  });
}

}  // namespace

template <class T>
void mask_points(Cuda& cuda, const MaskPoints<T>& p) {
  const bool packed = starts_packs(p.x, p.out) && whole_packs<T>(p.points * p.width);
  packed ? mask_packs<kPack<T>>(cuda, p) : mask_packs<1>(cuda, p);
}

NPZOO_INSTANTIATE(mask_points, MaskPoints);

}  // namespace npzoo
