#include "npzoo/engine/cuda/pack.h"
#include "npzoo/ops/concat/kernels.h"

namespace npzoo {

namespace {

template <int size, class T>
void copy_packs(Cuda& cuda, const CopyRows<T>& p) {
  const std::int64_t packs = p.width / size;
  for_each(cuda, "copy_rows", p.rows * packs, [p, packs] __device__(std::int64_t i) {
    const std::int64_t row = p.rows == 1 ? 0 : i / packs, column = (i - row * packs) * size;
    T* out = p.out + row * p.out_step + column;
    auto pack = p.x ? load<size>(p.x + row * p.x_step + column) : splat<size>(T(0));
    if (p.accumulate) {
      const auto before = load<size>(out);
      for (int lane = 0; lane < size; ++lane) pack.lane[lane] += before.lane[lane];
    }
    store(out, pack);
  });
}

}  // namespace

template <class T>
void copy_rows(Cuda& cuda, const CopyRows<T>& p) {
  const bool packed = starts_packs(p.x, p.out) && whole_packs<T>(p.width) &&
                      (p.rows == 1 || (whole_packs<T>(p.x_step) && whole_packs<T>(p.out_step)));
  packed ? copy_packs<kPack<T>>(cuda, p) : copy_packs<1>(cuda, p);
}

NPZOO_INSTANTIATE(copy_rows, CopyRows);

}  // namespace npzoo
