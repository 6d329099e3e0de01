#pragma once

#include "npzoo/engine/cuda/launch.h"
#include "npzoo/engine/team.h"

namespace npzoo {

/// A Team (npzoo/engine/team.h) of a block of `kWarps` warps. A launch needs kBytes of shared memory.
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
    const double* const parts = of_warps(warp_sum(part));
    double total = 0;
    for (int warp = 0; warp < kWarps; ++warp) total += parts[warp];
    return total;
  }
  template <class F>
  __device__ double least(std::int64_t n, const F& f) const {
    double part = __builtin_huge_val();
    for (std::int64_t i = threadIdx.x; i < n; i += kThreads) part = smaller(part, f(i));
    for (int step = kWarp / 2; step > 0; step /= 2) part = smaller(part, __shfl_xor_sync(kAllLanes, part, step));
    const double* const parts = of_warps(part);
    double result = parts[0];
    for (int warp = 1; warp < kWarps; ++warp) result = smaller(result, parts[warp]);
    return result;
  }
  /// A merge sort: runs double in each pass, and each index finds its place in the other run by bisection.
  template <class Before>
  __device__ void sort(std::int64_t n, std::int64_t* order, std::int64_t* room, const Before& before) const {
    std::int64_t *from = order, *to = room;
    for (std::int64_t run = 1; run < n; run *= 2) {
      each(n, [=](std::int64_t i) {
        const std::int64_t first = i / (2 * run) * (2 * run), middle = first + run < n ? first + run : n,
                           end = middle + run < n ? middle + run : n;
        const bool in_first = i < middle;
        std::int64_t low = in_first ? middle : first, high = in_first ? end : middle;
        while (low < high) {
          const std::int64_t half = low + (high - low) / 2;
          if (before(from[half], from[i]))
            low = half + 1;
          else
            high = half;
        }
        to[i + low - middle] = from[i];
      });
      std::int64_t* const sorted = to;
      to = from;
      from = sorted;
    }
    if (from != order) each(n, [=](std::int64_t i) { order[i] = from[i]; });
  }
  __device__ double log(double x) const { return logarithm(x); }
  __device__ double exp(double x) const { return exponential(x); }
  __device__ double sqrt(double x) const { return square_root(x); }
  __device__ double cos(double x) const { return cosine(x); }
  __device__ double sin(double x) const { return sine(x); }

 private:
  __device__ static double smaller(double a, double b) { return b < a ? b : a; }
  /// The numbers of all warps, one after the other, for every thread.
  __device__ static const double* of_warps(double of_this_warp) {
    auto* parts = shared_memory<double>();
    __syncthreads();
    if (lane_id() == 0) parts[warp_id()] = of_this_warp;
    __syncthreads();
    return parts;
  }
};

}  // namespace npzoo
