#pragma once

#include "engine/cuda/launch.h"
#include "engine/team.h"

namespace npzoo {

/// A Team (engine/team.h) of a block of `kWarps` warps. A launch needs kBytes of shared memory.
template <int kWarps>
struct BlockTeam {
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr std::size_t kBytes = kWarps * sizeof(double);

  template <class F>
  __device__ void each(std::int64_t n, const F& f) const {
    for (std::int64_t i = threadIdx.x; i < n; i += kThreads) f(i);
    __syncthreads();
  }
  template <class F>
  __device__ void each(std::int64_t n, std::int64_t m, const F& f) const {
    for (std::int64_t i = warp_id(); i < n; i += kWarps)
      for (std::int64_t j = lane_id(); j < m; j += kWarp) f(i, j);
    __syncthreads();
  }
  template <class F>
  __device__ double sum(std::int64_t n, const F& f) const {
    double part = 0;
    for (std::int64_t i = threadIdx.x; i < n; i += kThreads) part += f(i);
    part = warp_sum(part);
    auto* parts = shared_memory<double>();
    __syncthreads();
    if (lane_id() == 0) parts[warp_id()] = part;
    __syncthreads();
    double total = 0;
    for (int warp = 0; warp < kWarps; ++warp) total += parts[warp];
    return total;
  }
  __device__ double log(double x) const { return logarithm(x); }
  __device__ double exp(double x) const { return exponential(x); }
  __device__ double sqrt(double x) const { return square_root(x); }
  __device__ double cos(double x) const { return cosine(x); }
  __device__ double sin(double x) const { return sine(x); }
};

}  // namespace npzoo
