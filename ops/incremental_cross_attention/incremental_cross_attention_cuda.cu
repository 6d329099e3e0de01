#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/incremental_cross_attention/kernels.h"

namespace npzoo {

namespace {

constexpr int kRowWarps = 8;  // of a block, one row each at a time

/// One latent in one head.
struct Row {
  template <class T>
  __device__ Row(const MergeForward<T>& p, std::int64_t index)
      : log_sum(index),
        mean((index / (p.heads * p.latents) * p.latents + index % p.latents) * p.heads * p.width +
             index / p.latents % p.heads * p.width) {}

  std::int64_t log_sum, mean;  // where its elements begin
};

/// Shares of both sides in the whole.
template <class T>
struct Weights {
  __device__ Weights(const MergeForward<T>& p, std::int64_t row) {
    const T left = p.a_log_sum[row], right = p.b_log_sum[row], top = left > right ? left : right;
    log_sum = top;
    if (left == -infinity<T>() && right == -infinity<T>()) return;
    const T of_left = exponential(left - top), of_right = exponential(right - top), sum = of_left + of_right;
    a = of_left / sum;
    b = of_right / sum;
    log_sum = top + logarithm(sum);
  }

  T a = 0, b = 0, log_sum;
};

/// `width` neighbouring lanes, a power of 2, take a row.
template <class T>
__global__ void __launch_bounds__(kRowWarps* kWarp) merge_rows(MergeForward<T> p, std::int64_t rows, int width) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x / width;
  const int lane = static_cast<int>(threadIdx.x) % width;
  for (std::int64_t i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / width; i < rows; i += step) {
    const Row at(p, i);
    const Weights<T> w(p, i);
    if (lane == 0) p.log_sum[i] = w.log_sum;
    for (std::int64_t c = at.mean + lane; c < at.mean + p.width; c += width)
      p.mean[c] = w.a * p.a_mean[c] + w.b * p.b_mean[c];
  }
}

/// The same for the gradients. Lanes behind the last row go along for the sums.
template <class T>
__global__ void __launch_bounds__(kRowWarps* kWarp)
    merge_rows_backward(MergeBackward<T> b, std::int64_t rows, int width) {
  const MergeForward<T>& p = b.forward;
  const int lanes_rows = kWarp / width, lane = lane_id() % width;
  const std::int64_t step = std::int64_t{gridDim.x} * kRowWarps * lanes_rows;
  for (std::int64_t first = (std::int64_t{blockIdx.x} * kRowWarps + warp_id()) * lanes_rows; first < rows;
       first += step) {
    const std::int64_t i = first + lane_id() / width, row = min(i, rows - 1);
    const Row at(p, row);
    const Weights<T> w(p, row);
    T towards_a = 0;  // Σ d_mean · (a − b)
    for (std::int64_t c = at.mean + lane; c < at.mean + p.width; c += width) {
      const T d = b.d_mean ? b.d_mean[c] : T(0);
      towards_a += d * (p.a_mean[c] - p.b_mean[c]);
      if (i >= rows) continue;
      b.d_a_mean[c] = w.a * d;
      b.d_b_mean[c] = w.b * d;
    }
    for (int other = width / 2; other > 0; other /= 2) towards_a += __shfl_xor_sync(kAllLanes, towards_a, other);
    if (lane != 0 || i >= rows) continue;
    const T d = b.d_log_sum ? b.d_log_sum[i] : T(0);
    b.d_a_log_sum[i] = w.a > 0 ? w.a * (d + w.b * towards_a) : T(0);
    b.d_b_log_sum[i] = w.b > 0 ? w.b * (d - w.a * towards_a) : T(0);
  }
}

/// Lanes that share a row of `width` channels.
int lanes_of_row(std::int64_t width) {
  int lanes = 1;
  while (lanes < kWarp && lanes < width) lanes *= 2;
  return lanes;
}

std::int64_t merge_blocks(const Cuda& cuda, std::int64_t rows, int lanes) {
  const std::int64_t blocks = divide_up(rows * lanes, kRowWarps * kWarp),
                     most = std::int64_t{cuda.multiprocessors} * 16;
  return min(blocks, most);
}

}  // namespace

template <class T>
void merge_forward(Cuda& cuda, const MergeForward<T>& p) {
  const std::int64_t rows = p.batch * p.heads * p.latents;
  const int lanes = lanes_of_row(p.width);
  launch(cuda, "merge_forward", merge_rows<T>, merge_blocks(cuda, rows, lanes), kRowWarps * kWarp, 0, p, rows, lanes);
}

template <class T>
void merge_backward(Cuda& cuda, const MergeBackward<T>& b) {
  const MergeForward<T>& p = b.forward;
  const std::int64_t rows = p.batch * p.heads * p.latents;
  const int lanes = lanes_of_row(p.width);
  launch(cuda, "merge_backward", merge_rows_backward<T>, merge_blocks(cuda, rows, lanes), kRowWarps * kWarp, 0, b, rows,
         lanes);
}

NPZOO_INSTANTIATE(merge_forward, MergeForward);
NPZOO_INSTANTIATE(merge_backward, MergeBackward);

}  // namespace npzoo
