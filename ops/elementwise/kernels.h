#pragma once

#include <array>

#include "engine/cpu/context.h"
#include "engine/cuda/context.h"
#include "engine/rank.h"

namespace npzoo {

enum class Unary : std::uint8_t {
#define NPZOO_UNARY(name, value, saved, slope) name,
#include "ops/elementwise/table.def"
#undef NPZOO_UNARY
};

enum class Binary : std::uint8_t { add, sub, mul, div };

template <class T>
struct UnaryForward {
  std::int64_t n;
  const T* x;
  T* y;
};

/// d_x = d_y · f′(saved)
template <class T>
struct UnaryBackward {
  std::int64_t n;
  const T* saved;
  const T* d_y;
  T* d_x;
};

template <class T>
struct Affine {
  std::int64_t n;
  const T* x;
  T scale, shift;
  T* y;
};

/// y = clamp(x); with d_y, y = d_y where low ≤ x ≤ high, else 0.
template <class T>
struct Clamp {
  std::int64_t n;
  const T* x;
  T low, high;
  const T* d_y;  // null: forward
  T* y;
};

/// Broadcast axes have stride 0. Neighbouring axes are merged where both arguments allow it, so that the last axis is
/// as long as can be.
template <class T>
struct BinaryForward {
  int rank;
  std::array<std::int64_t, kMaxRank> extent, a_stride, b_stride;
  const T* a;
  const T* b;
  T* out;
};

template <class T, Isa isa>
void unary_forward(CpuContext<isa>& cpu, Unary function, const UnaryForward<T>& p);
template <class T, Gpu gpu>
void unary_forward(CudaContext<gpu>& cuda, Unary function, const UnaryForward<T>& p);
template <class T, Isa isa>
void unary_backward(CpuContext<isa>& cpu, Unary function, const UnaryBackward<T>& p);
template <class T, Gpu gpu>
void unary_backward(CudaContext<gpu>& cuda, Unary function, const UnaryBackward<T>& p);
template <class T, Isa isa>
void affine(CpuContext<isa>& cpu, const Affine<T>& p);
template <class T, Gpu gpu>
void affine(CudaContext<gpu>& cuda, const Affine<T>& p);
template <class T, Isa isa>
void clamp(CpuContext<isa>& cpu, const Clamp<T>& p);
template <class T, Gpu gpu>
void clamp(CudaContext<gpu>& cuda, const Clamp<T>& p);
template <class T, Isa isa>
void binary_forward(CpuContext<isa>& cpu, Binary function, const BinaryForward<T>& p);
template <class T, Gpu gpu>
void binary_forward(CudaContext<gpu>& cuda, Binary function, const BinaryForward<T>& p);

}  // namespace npzoo
