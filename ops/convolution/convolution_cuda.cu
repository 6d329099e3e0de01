#include "npzoo/engine/cuda/launch.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/convolution/kernels.h"

namespace npzoo {

namespace {

constexpr int kSide = 64, kDepth = 16, kOwn = 4;  // a tile of sums, the part of them at a time, a thread's sums a side
constexpr int kAcross = kSide / kOwn, kThreads = kAcross * kAcross;
constexpr int kPitch = kSide + 4;

/// A block's tile of C = A B, from k in [begin, end): left(row, k), right(k, column) and put(row, column, sum) know
/// where elements are. Neighbouring threads read along k of A where `along` says so, else along its rows.
template <class T, bool along, class Left, class Right, class Put>
__device__ void multiply_tile(std::int64_t rows, std::int64_t columns, std::int64_t begin, std::int64_t end,
                              const Left& left, const Right& right, const Put& put) {
  T *a = shared_memory<T>(), *b = a + kDepth * kPitch;  // (kDepth, kPitch) each
  const std::int64_t row = std::int64_t{blockIdx.x} * kSide, column = std::int64_t{blockIdx.y} * kSide;
  const int thread = static_cast<int>(threadIdx.x), own_row = thread / kAcross, own_column = thread % kAcross;
  T sum[kOwn][kOwn] = {};
  for (std::int64_t k = begin; k < end; k += kDepth) {
    for (int e = thread; e < kSide * kDepth; e += kThreads) {
      const int i = along ? e / kDepth : e % kSide, depth = along ? e % kDepth : e / kSide;
      a[depth * kPitch + i] = row + i < rows && k + depth < end ? left(row + i, k + depth) : T(0);
      const int j = e % kSide, deep = e / kSide;
      b[deep * kPitch + j] = column + j < columns && k + deep < end ? right(k + deep, column + j) : T(0);
    }
    __syncthreads();
    for (int depth = 0; depth < kDepth; ++depth) {
      T x[kOwn], y[kOwn];
      for (int i = 0; i < kOwn; ++i) x[i] = a[depth * kPitch + own_row + i * kAcross];
      for (int j = 0; j < kOwn; ++j) y[j] = b[depth * kPitch + own_column + j * kAcross];
      for (int i = 0; i < kOwn; ++i)
        for (int j = 0; j < kOwn; ++j) sum[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < kOwn; ++i)
    for (int j = 0; j < kOwn; ++j) {
      const std::int64_t to_row = row + own_row + i * kAcross, to_column = column + own_column + j * kAcross;
      if (to_row < rows && to_column < columns) put(to_row, to_column, sum[i][j]);
    }
}

/// The element of x that tap and channel k of a group meet in a window; 0 in the padding.
template <class T>
__device__ T element(const Windows& w, const T* x, std::int64_t window, std::int64_t group, std::int64_t k) {
  const std::int64_t width = w.in_channels / w.groups, tap = k / width;
  const std::int64_t row = w.first_h + window / w.out_w % w.out_h * w.stride_h + tap / w.kernel_w;
  const std::int64_t column = w.first_w + window % w.out_w * w.stride_w + tap % w.kernel_w;
  if (row < 0 || row >= w.in_h || column < 0 || column >= w.in_w) return T(0);
  const std::int64_t image = window / w.out_w / w.out_h;
  return x[((image * w.in_h + row) * w.in_w + column) * w.in_channels + group * width + k % width];
}

/// Grid (tiles of windows, tiles of a group's output channels, groups).
template <class T>
__global__ void __launch_bounds__(kThreads) correlate_tiles(Correlation<T> p) {
  const Windows& w = p.windows;
  const std::int64_t group = blockIdx.z, width = w.out_channels / w.groups;
  multiply_tile<T, true>(
      w.batch * w.out_h * w.out_w, width, 0, w.kernel_h * w.kernel_w * (w.in_channels / w.groups),
      [&](std::int64_t window, std::int64_t k) { return element(w, p.x, window, group, k); },
      [&](std::int64_t k, std::int64_t j) { return p.weight[k * w.out_channels + group * width + j]; },
      [&](std::int64_t window, std::int64_t j, T sum) {
        const std::int64_t image = window / w.out_w / w.out_h, channel = group * width + j;
        p.y[image * p.y_image + window / w.out_w % w.out_h * p.y_row + window % w.out_w * p.y_column + channel] =
            p.bias ? sum + p.bias[channel] : sum;
      });
}

/// Grid (tiles of taps and a group's input channels, tiles of its output channels, groups · slices of the windows).
/// partial (slices, kernel_h · kernel_w · in_width, out_channels).
template <class T>
__global__ void __launch_bounds__(kThreads) correlate_weights_tiles(CorrelationWeights<T> p, int slices, T* partial) {
  const Windows& w = p.windows;
  const std::int64_t group = blockIdx.z / slices, slice = blockIdx.z % slices, width = w.out_channels / w.groups;
  const std::int64_t rows = w.kernel_h * w.kernel_w * (w.in_channels / w.groups);
  const std::int64_t windows = w.batch * w.out_h * w.out_w;
  multiply_tile<T, false>(
      rows, width, windows * slice / slices, windows * (slice + 1) / slices,
      [&](std::int64_t k, std::int64_t window) { return element(w, p.x, window, group, k); },
      [&](std::int64_t window, std::int64_t j) { return p.d_y[window * w.out_channels + group * width + j]; },
      [&](std::int64_t k, std::int64_t j, T sum) {
        partial[(slice * rows + k) * w.out_channels + group * width + j] = sum;
      });
}

template <class T>
constexpr std::size_t kShared = 2 * kDepth* kPitch * sizeof(T);

std::int64_t tiles(std::int64_t extent) { return divide_up(extent, kSide); }

}  // namespace

template <class T>
void correlate(Cuda& cuda, const Correlation<T>& p) {
  const Windows& w = p.windows;
  launch(cuda, "correlate", correlate_tiles<T>,
         {tiles(w.batch * w.out_h * w.out_w), tiles(w.out_channels / w.groups), w.groups}, kThreads, kShared<T>, p);
}

template <class T>
void correlate_weights(Cuda& cuda, const CorrelationWeights<T>& p) {
  constexpr std::int64_t kBlocksPerMultiprocessor = 4, kShortest = 256;
  const Windows& w = p.windows;
  const std::int64_t rows = w.kernel_h * w.kernel_w * (w.in_channels / w.groups), size = rows * w.out_channels;
  const Grid grid(tiles(rows), tiles(w.out_channels / w.groups), w.groups);
  const std::int64_t blocks = grid.blocks(), windows = w.batch * w.out_h * w.out_w;
  if (size == 0) return;
  // Partial sums take no more memory than the images.
  const std::int64_t images = w.batch * w.in_h * w.in_w * w.in_channels + windows * w.out_channels;
  const std::int64_t wanted = divide_up(std::int64_t{cuda.multiprocessors} * kBlocksPerMultiprocessor, blocks);
  std::int64_t slices = wanted < windows / kShortest ? wanted : windows / kShortest;
  if (slices > images / size) slices = images / size;
  if (slices <= 1) slices = 1;
  const Buffer buffer(static_cast<std::size_t>(slices > 1 ? slices * size : 0) * sizeof(T), Device::cuda);
  T* partial = slices > 1 ? reinterpret_cast<T*>(buffer.data()) : p.d_weight;
  launch(cuda, "correlate_weights", correlate_weights_tiles<T>, {grid.x, grid.y, grid.z * slices}, kThreads, kShared<T>,
         p, static_cast<int>(slices), partial);
  if (slices == 1) return;
  T* d_weight = p.d_weight;
  for_each(cuda, "correlate_weights", size, [=] __device__(std::int64_t i) {
    T sum = partial[i];
    for (std::int64_t slice = 1; slice < slices; ++slice) sum += partial[slice * size + i];
    d_weight[i] = sum;
  });
}

template <class T>
void kernel_taps(Cuda& cuda, const KernelTaps<T>& p) {
  const std::int64_t size = p.in_width * p.groups * p.out_width;
  for_each(cuda, "kernel_taps", p.taps_h * p.taps_w * size, [=] __device__(std::int64_t i) {
    const std::int64_t tap = i / size;
    const std::int64_t row = p.first_h + tap / p.taps_w * p.step_h, column = p.first_w + tap % p.taps_w * p.step_w;
    std::int64_t from = i % size;
    if (p.transposed) {
      const std::int64_t in = from % p.in_width, group = from / p.in_width % p.groups,
                         out = from / p.in_width / p.groups;
      from = (in * p.groups + group) * p.out_width + out;
    }
    p.taps[i] = p.weight[(row * p.kernel_w + column) * size + from];
  });
}

NPZOO_INSTANTIATE(correlate, Correlation);
NPZOO_INSTANTIATE(correlate_weights, CorrelationWeights);
NPZOO_INSTANTIATE(kernel_taps, KernelTaps);

}  // namespace npzoo
