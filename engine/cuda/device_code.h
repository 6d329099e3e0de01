#pragma once

// The language of kernel sources (*_cuda.cu): CUDA C++ if nvcc compiles them, the same language on the CPU in the
// emulation. Included by kernel sources only; NPZOO_GPU names what a source is compiled for.

#include <bit>
#include <cstdint>

#include "npzoo/engine/cuda/context.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include "npzoo/engine/cuda/emulator.h"
#endif

namespace npzoo {

inline constexpr Gpu kGpu = Gpu::NPZOO_GPU;
using Cuda = CudaContext<kGpu>;
using KernelContext = Cuda;

namespace {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

/// The block's dynamic shared memory.
template <class T>
__device__ T* shared_memory() {
#ifdef __CUDACC__
  extern __shared__ __align__(128) unsigned char memory[];
  return reinterpret_cast<T*>(memory);
#else
  return static_cast<T*>(emulator::shared_memory());
#endif
}

__host__ __device__ constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

__device__ inline int lane_id() { return static_cast<int>(threadIdx.x) % kWarp; }
__device__ inline int warp_id() { return static_cast<int>(threadIdx.x) / kWarp; }

/// Sum over the warp's lanes, the same bits in each of them.
template <class T>
__device__ T warp_sum(T x) {
  for (int step = kWarp / 2; step > 0; step /= 2) x += __shfl_xor_sync(kAllLanes, x, step);
  return x;
}

/// Maximum over the warp's lanes; NaN where one lane has NaN.
template <class T>
__device__ T warp_max(T x) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const T other = __shfl_xor_sync(kAllLanes, x, step);
    x = other > x || other != other ? other : x;
  }
  return x;
}

// Elementary functions of the type at hand: the names without a suffix are those of double in CUDA C.
__device__ inline float exponential(float x) { return expf(x); }
__device__ inline double exponential(double x) { return exp(x); }
/// Errs by 0.8 units of the last place at most, denormal results by 0.9; CUDA's exp2f by 2, which the weights of
/// attention would pass on to gradients of queries. A polynomial of the fraction, minimax with coefficients rounded one
/// by one.
__device__ inline float exponential2(float x) {
  constexpr float kRound = 12582912;  // 1.5 · 2^23: a sum with it is rounded to a whole number
  const float clipped = x < -152 ? -152 : x > 130 ? 130 : x, shifted = clipped + kRound;
  const float fraction = clipped - (shifted - kRound);
  float power = 0x1.417a9cp-13f;
  power = fmaf(power, fraction, 0x1.5f0948p-10f);
  power = fmaf(power, fraction, 0x1.3b2dd2p-7f);
  power = fmaf(power, fraction, 0x1.c6af7ap-5f);
  power = fmaf(power, fraction, 0x1.ebfbdcp-3f);
  power = fmaf(power, fraction, 0x1.62e430p-1f);
  power = fmaf(power, fraction, 1);
  const auto whole = static_cast<int>(std::bit_cast<unsigned>(shifted) - std::bit_cast<unsigned>(kRound));
  const auto scale = [](int n) { return std::bit_cast<float>(static_cast<unsigned>(n + 127) << 23); };
  return power * scale(whole >> 1) * scale(whole - (whole >> 1));
}
__device__ inline double exponential2(double x) { return exp2(x); }
__device__ inline float logarithm(float x) { return logf(x); }
__device__ inline double logarithm(double x) { return log(x); }
/// Returns log2(2^top · total), rounded once: its error is a relative error of all weights of a row.
template <class T>
__device__ T log2_of_sum(T top, T total) {
  return static_cast<T>(static_cast<double>(top) + log2(static_cast<double>(total)));
}
__device__ inline float square_root(float x) { return sqrtf(x); }
__device__ inline double square_root(double x) { return sqrt(x); }
__device__ inline float absolute(float x) { return fabsf(x); }
__device__ inline double absolute(double x) { return fabs(x); }
__device__ inline float hyperbolic_tangent(float x) { return tanhf(x); }
__device__ inline double hyperbolic_tangent(double x) { return tanh(x); }
__device__ inline double cosine(double x) { return cos(x); }
__device__ inline double sine(double x) { return sin(x); }
__device__ inline float error_function(float x) { return erff(x); }
__device__ inline double error_function(double x) { return erf(x); }
__device__ inline float exponential_minus_one(float x) { return expm1f(x); }
__device__ inline double exponential_minus_one(double x) { return expm1(x); }
__device__ inline float log_one_plus(float x) { return log1pf(x); }
__device__ inline double log_one_plus(double x) { return log1p(x); }

template <class T>
__device__ constexpr T infinity() {
  return static_cast<T>(__builtin_huge_val());
}

}  // namespace

}  // namespace npzoo
