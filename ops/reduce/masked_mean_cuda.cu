#include "npzoo/engine/memory.h"
#include "npzoo/ops/reduce/column_tile.h"
#include "npzoo/ops/reduce/kernels.h"

namespace npzoo {

namespace {

template <class P>
__device__ std::int64_t length(const P& p, std::int64_t b) {
  return p.lengths ? p.lengths[b] : p.points;
}

/// The mean from the sum over the points of set b.
template <class T>
__device__ T mean(const MaskedMeanForward<T>& p, std::int64_t b, double sum) {
  const std::int64_t n = length(p, b);
  return static_cast<T>(sum / static_cast<double>(n > 1 ? n : 1));
}

/// Sums one slice of the points: grid (batch · tiles, slices). `sums` is (slices, batch, width), or null where there is
/// one slice, whose mean goes to `out`.
template <class T>
__global__ void __launch_bounds__(kTileThreads) sum_visible(MaskedMeanForward<T> p, double* sums) {
  const ColumnTile tile(p.width);
  const std::int64_t b = tile.outer, depth = divide_up(p.points, gridDim.y), first = blockIdx.y * depth;
  const std::int64_t last = min(first + depth, length(p, b));
  const T* x = p.x + b * p.points * p.width + tile.column;
  double sum = 0;
  if (tile.inside)
    for (std::int64_t row = first + tile.lane; row < last; row += tile.lanes)
      sum += static_cast<double>(x[row * p.width]);
  sum = tile.reduce(sum, [](double s, double t) { return s + t; });
  if (!tile.inside || tile.lane != 0) return;
  if (sums)
    sums[(blockIdx.y * p.batch + b) * p.width + tile.column] = sum;
  else
    p.out[b * p.width + tile.column] = mean(p, b, sum);
}

}  // namespace

template <class T>
void masked_mean_forward(Cuda& cuda, const MaskedMeanForward<T>& p) {
  if (p.batch == 0 || p.width == 0) return;
  // Enough blocks for the device, each with enough points, whatever the lengths are.
  const std::int64_t blocks = tile_blocks(p.batch, p.width), lanes = kTileThreads / tile_columns(p.width);
  const std::int64_t wanted = divide_up(2 * cuda.multiprocessors, blocks), most = p.points / (8 * lanes);
  const std::int64_t slices = max(std::int64_t{1}, min(wanted, most)), results = p.batch * p.width;
  const Grid grid(blocks, slices);
  if (slices == 1) return launch(cuda, "masked_mean", sum_visible<T>, grid, kTileThreads, kTileShared, p, nullptr);
  const Buffer buffer(static_cast<std::size_t>(slices * results) * sizeof(double), Device::cuda);
  auto* sums = reinterpret_cast<double*>(buffer.data());
  launch(cuda, "masked_mean", sum_visible<T>, grid, kTileThreads, kTileShared, p, sums);
  for_each(cuda, "masked_mean", results, [p, sums, slices, results] __device__(std::int64_t i) {
    double sum = 0;
    for (std::int64_t slice = 0; slice < slices; ++slice) sum += sums[slice * results + i];
    p.out[i] = mean(p, i / p.width, sum);
  });
}

template <class T>
void masked_mean_backward(Cuda& cuda, const MaskedMeanBackward<T>& p) {
  for_each(cuda, "masked_mean_backward", p.batch * p.points * p.width, [p] __device__(std::int64_t i) {
    const std::int64_t set = p.points * p.width, b = i / set, n = length(p, b), place = i - b * set;
    const T weight = place < n * p.width ? 1 / static_cast<T>(n) : T(0);
    p.d_x[i] = weight * p.d_out[b * p.width + place % p.width];
  });
}

NPZOO_INSTANTIATE(masked_mean_forward, MaskedMeanForward);
NPZOO_INSTANTIATE(masked_mean_backward, MaskedMeanBackward);

}  // namespace npzoo
