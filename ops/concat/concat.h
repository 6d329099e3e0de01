#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Tensors one behind the other along `axis`, which may be negative.
///
/// Shapes must agree in all other extents; float32 or float64; extents of 0 are legal. Saves nothing.
Tensor concat(std::span<const Tensor> xs, int axis);
inline Tensor concat(std::initializer_list<Tensor> xs, int axis) {
  return concat(std::span(xs.begin(), xs.size()), axis);
}

/// A set of points (B, N, ·) whose columns are in several arrays (B, N, D). `lengths` (B), on the CPU, are the numbers
/// of points that are there; undefined: all.
struct PointsToJoin {
  std::vector<Tensor> columns;
  Tensor lengths{};
};

/// Sets of points one behind the other: (B, ΣN, D), where D are the columns of the widest set.
///
/// Columns that a set lacks are 0, and so is padding, which is never read, so it may be NaN. Gradients of padding are
/// 0. float32 or float64; empty extents are legal. Throws Error for a length out of range. Saves the lengths.
Tensor concat_points(std::span<const PointsToJoin> sets);
inline Tensor concat_points(std::initializer_list<PointsToJoin> sets) {
  return concat_points(std::span(sets.begin(), sets.size()));
}

/// Positions [begin, end) of `axis`, 0 ≤ begin ≤ end ≤ extent, as a copy; gradients elsewhere are 0. Saves nothing.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end);

/// Positions of `axis` of `whole` from `begin` on, and what is copied there: `part`, or `value` to `size` positions if
/// `part` is undefined.
struct SliceToCopy {
  Tensor part;
  int axis;
  std::int64_t begin;
  Tensor whole;
  std::int64_t size = 0;
  double value = 0;
};

/// Copies slices in place, on a device ten by one kernel; they must not overlap. Not recorded: for what is
/// computed piece by piece without a recording.
void copy_slices(std::span<const SliceToCopy> slices);
/// Copies `part` to the positions of `axis` from `begin` on of `whole`: what `slice` would read there.
inline void copy_slice(const Tensor& part, int axis, std::int64_t begin, Tensor& whole) {
  const SliceToCopy slice{part, axis, begin, whole};
  copy_slices({&slice, 1});
}

/// Consecutive pieces of `axis`, whose sizes must add up to its extent: the inverse of `concat`. Pieces that nothing
/// depends on contribute gradients of 0. Saves nothing.
std::vector<Tensor> split(const Tensor& x, int axis, std::span<const std::int64_t> sizes);
inline std::vector<Tensor> split(const Tensor& x, int axis, std::initializer_list<std::int64_t> sizes) {
  return split(x, axis, std::span(sizes.begin(), sizes.size()));
}

}  // namespace npzoo
