#include "npzoo/engine/cuda/pack.h"
#include "npzoo/ops/reshape/kernels.h"

namespace npzoo {

namespace {

template <int size, class T>
void copy_packs(Cuda& cuda, const BroadcastCopy<T>& p) {
  const int last = p.rank - 1;
  const std::int64_t packs = p.extent[last] / size;
  std::int64_t rows = 1;
  for (int axis = 0; axis < last; ++axis) rows *= p.extent[axis];
  for_each(cuda, "broadcast_copy", rows * packs, [p, last, packs] __device__(std::int64_t i) {
    const std::int64_t row = last == 0 ? 0 : i / packs, column = (i - row * packs) * size;
    const T* x = p.x + row_offset(p.rank, p.extent, p.stride, row);
    store(p.out + row * p.extent[last] + column, p.stride[last] ? load<size>(x + column) : splat<size>(*x));
  });
}

}  // namespace

template <class T>
void broadcast_copy(Cuda& cuda, const BroadcastCopy<T>& p) {
  const int last = p.rank - 1;
  bool packed = starts_packs(p.x, p.out) && whole_packs<T>(p.extent[last]);
  for (int axis = 0; axis < last && p.stride[last] == 1; ++axis) packed = packed && whole_packs<T>(p.stride[axis]);
  packed ? copy_packs<kPack<T>>(cuda, p) : copy_packs<1>(cuda, p);
}

NPZOO_INSTANTIATE(broadcast_copy, BroadcastCopy);

}  // namespace npzoo
