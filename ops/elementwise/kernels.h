#pragma once

#include <array>

#include "npzoo/engine/kernel.h"
#include "npzoo/engine/rank.h"

namespace npzoo {

enum class Unary : std::uint8_t {
#define NPZOO_UNARY(name, value, saved, slope) name,
#include "npzoo/ops/elementwise/table.def"
#undef NPZOO_UNARY
};

enum class Binary : std::uint8_t { add, sub, mul, div };

template <class T>
struct UnaryForward {
  Unary function;
  std::int64_t n;
  const T* x;
  T* y;
};

/// d_x = d_y · f′(saved)
template <class T>
struct UnaryBackward {
  Unary function;
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
  Binary function;
  int rank;
  std::array<std::int64_t, kMaxRank> extent, a_stride, b_stride;
  const T* a;
  const T* b;
  T* out;
};

NPZOO_KERNEL(unary_forward, UnaryForward);
NPZOO_KERNEL(unary_backward, UnaryBackward);
NPZOO_KERNEL(affine, Affine);
NPZOO_KERNEL(clamp, Clamp);
NPZOO_KERNEL(binary_forward, BinaryForward);

}  // namespace npzoo
