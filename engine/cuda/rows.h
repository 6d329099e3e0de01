#pragma once

// Row-wise kernels. Included by kernel sources only.

#include "npzoo/engine/cuda/launch.h"

namespace npzoo {

namespace {

constexpr int kLog2RowThreads = 8, kRowThreads = 1 << kLog2RowThreads;
constexpr std::int64_t kWidestForWarp = 1024;

/// The threads that share a row: a power of two of neighbours within a warp, or a whole block. All of them take part in
/// every reduction, also where `width` is 0 because there are no more rows.
struct RowThreads {
  std::int64_t row;
  std::int64_t width;
  int lanes;

  __device__ int lane() const { return static_cast<int>(threadIdx.x) & (lanes - 1); }
  /// True in one thread of each existing row.
  __device__ bool first(std::int64_t rows) const { return row < rows && lane() == 0; }

  /// Calls f(i) for the elements of this thread.
  template <class F>
  __device__ void for_own(const F& f) const {
    for (std::int64_t i = lane(); i < width; i += lanes) f(i);
  }

  /// Reduces over the threads by `op`: the same bits in each of them.
  template <class T, class F>
  __device__ T reduce(T x, const F& op) const {
    for (int step = (lanes < kWarp ? lanes : kWarp) / 2; step > 0; step /= 2)
      x = op(x, __shfl_xor_sync(kAllLanes, x, step));
    if (lanes <= kWarp) return x;
    auto* parts = shared_memory<T>();
    __syncthreads();
    if (lane_id() == 0) parts[warp_id()] = x;
    __syncthreads();
    x = parts[0];
    for (int warp = 1; warp < lanes / kWarp; ++warp) x = op(x, parts[warp]);
    return x;
  }
  template <class T>
  __device__ T sum(T x) const {
    return reduce(x, [](T a, T b) { return a + b; });
  }
  /// NaN if one element is.
  template <class T>
  __device__ T largest(T x) const {
    return reduce(x, [](T a, T b) { return b > a || b != b ? b : a; });
  }
};

template <class F>
__global__ void __launch_bounds__(kRowThreads, 4)
    rows_kernel(std::int64_t rows, std::int64_t width, int log2_lanes, F f) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * kRowThreads + threadIdx.x) >> log2_lanes;
  f(RowThreads{row, row < rows ? width : 0, 1 << log2_lanes});
}

/// Calls f(RowThreads) for every row, with a number of threads that suits its width.
template <class F>
void for_rows(Cuda& cuda, const char* name, std::int64_t rows, std::int64_t width, const F& f) {
  int log2_lanes = 0;
  while (1 << log2_lanes < width && 1 << log2_lanes < kWarp) ++log2_lanes;
  if (width > kWidestForWarp) log2_lanes = kLog2RowThreads;
  const std::int64_t blocks = divide_up(rows, kRowThreads >> log2_lanes);
  const std::size_t shared = 1 << log2_lanes > kWarp ? kRowThreads / kWarp * sizeof(double) : 0;
  launch(cuda, name, rows_kernel<F>, blocks, kRowThreads, shared, rows, width, log2_lanes, f);
}

/// Returns x − shift, but 0 if both are the same infinity.
template <class T>
__device__ T difference(T x, T shift) {
  return x == shift ? T(0) : x - shift;
}

/// Returns the shift of exponentials, which is 0 for a row that holds −∞ alone.
template <class T>
__device__ T shift_for(T largest) {
  return largest == -infinity<T>() ? T(0) : largest;
}

}  // namespace

}  // namespace npzoo
