#include "npzoo/engine/cuda/rows.h"
#include "npzoo/ops/reduce/column_tile.h"
#include "npzoo/ops/reduce/kernels.h"

namespace npzoo {

namespace {

template <class T>
__device__ T larger(T a, T b) {
  return b > a || b != b ? b : a;
}

template <class T>
void forward_rows(Cuda& cuda, const LogSumExpForward<T>& p) {
  for_rows(cuda, "logsumexp", p.outer, p.n, [p] __device__(const RowThreads& threads) {
    const T* x = p.x + threads.row * p.n;
    T largest = -infinity<T>();
    threads.for_own([&](std::int64_t i) { largest = larger(largest, x[i]); });
    const T shift = shift_for(threads.largest(largest));
    double sum = 0;
    threads.for_own([&](std::int64_t i) { sum += static_cast<double>(exponential(difference(x[i], shift))); });
    sum = threads.sum(sum);
    if (threads.first(p.outer)) p.out[threads.row] = shift + logarithm(static_cast<T>(sum));
  });
}

template <class T>
__global__ void __launch_bounds__(kTileThreads) forward_columns(LogSumExpForward<T> p) {
  const ColumnTile tile(p.inner);
  const T* x = p.x + tile.outer * p.n * p.inner + tile.column;
  const std::int64_t rows = tile.inside ? p.n : 0;
  T largest = -infinity<T>();
  for (std::int64_t row = tile.lane; row < rows; row += tile.lanes) largest = larger(largest, x[row * p.inner]);
  const T shift = shift_for(tile.reduce(largest, [](T a, T b) { return larger(a, b); }));
  double sum = 0;
  for (std::int64_t row = tile.lane; row < rows; row += tile.lanes)
    sum += static_cast<double>(exponential(difference(x[row * p.inner], shift)));
  sum = tile.reduce(sum, [](double a, double b) { return a + b; });
  if (tile.inside && tile.lane == 0) p.out[tile.outer * p.inner + tile.column] = shift + logarithm(static_cast<T>(sum));
}

}  // namespace

template <class T>
void logsumexp_forward(Cuda& cuda, const LogSumExpForward<T>& p) {
  if (p.inner == 0) return;
  if (p.inner == 1) return forward_rows(cuda, p);
  const std::int64_t blocks = tile_blocks(p.outer, p.inner);
  launch(cuda, "logsumexp", forward_columns<T>, blocks, kTileThreads, kTileShared, p);
}

template <class T>
void logsumexp_backward(Cuda& cuda, const LogSumExpBackward<T>& p) {
  for_each(cuda, "logsumexp_backward", p.outer * p.n * p.inner, [p] __device__(std::int64_t i) {
    const std::int64_t row = i / p.inner, result = row / p.n * p.inner + (i - row * p.inner);
    p.d_x[i] = p.d_out[result] * exponential(difference(p.x[i], shift_for(p.out[result])));
  });
}

NPZOO_INSTANTIATE(logsumexp_forward, LogSumExpForward);
NPZOO_INSTANTIATE(logsumexp_backward, LogSumExpBackward);

}  // namespace npzoo
