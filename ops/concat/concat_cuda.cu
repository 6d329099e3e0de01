#include "npzoo/engine/cuda/pack.h"
#include "npzoo/ops/concat/kernels.h"

namespace npzoo {

namespace {

template <int size, class T>
__host__ __device__ std::int64_t packs_of(const CopiedPiece<T>& p) {
  return p.sets * p.rows * (p.width / size);
}

template <int size, class T>
__device__ void copy_pack(const CopiedPiece<T>& p, std::int64_t i) {
  const std::int64_t packs = p.width / size, run = p.sets * p.rows == 1 ? 0 : i / packs;
  const std::int64_t set = p.sets == 1 ? 0 : run / p.rows, row = run - set * p.rows, column = (i - run * packs) * size;
  T* out = p.out + set * p.out_set + row * p.out_row + column;
  const bool missing = p.lengths && row >= p.lengths[set];
  auto pack = splat<size>(missing ? T(0) : p.value);
  if (p.x && !missing) pack = load<size>(p.x + set * p.x_set + row * p.x_row + column);
  if (p.accumulate) {
    const auto before = load<size>(out);
    for (int lane = 0; lane < size; ++lane) pack.lane[lane] += before.lane[lane];
  }
  store(out, pack);
}

template <int size, class T>
void copy_packs(Cuda& cuda, const CopyPieces<T>& p) {
  std::int64_t packs = 0;
  for (int k = 0; k < p.count; ++k) packs += packs_of<size>(p.pieces[k]);
  for_each(cuda, "copy_pieces", packs, [p] __device__(std::int64_t i) {
    int k = 0;
    for (; i >= packs_of<size>(p.pieces[k]); ++k) i -= packs_of<size>(p.pieces[k]);
    copy_pack<size>(p.pieces[k], i);
  });
}

template <class T>
bool in_packs(const CopiedPiece<T>& p) {
  const auto whole = [](auto... steps) { return (whole_packs<T>(steps) && ...); };
  return starts_packs(p.x, p.out) && whole(p.width) && (p.rows == 1 || whole(p.x_row, p.out_row)) &&
         (p.sets == 1 || whole(p.x_set, p.out_set));
}

}  // namespace

template <class T>
void copy_pieces(Cuda& cuda, const CopyPieces<T>& p) {
  bool packed = true;
  for (int k = 0; k < p.count; ++k) packed = packed && in_packs(p.pieces[k]);
  packed ? copy_packs<kPack<T>>(cuda, p) : copy_packs<1>(cuda, p);
}

NPZOO_INSTANTIATE(copy_pieces, CopyPieces);

}  // namespace npzoo
