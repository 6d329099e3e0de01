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

/// Positions [begin, end) of `axis`, 0 ≤ begin ≤ end ≤ extent, as a copy; gradients elsewhere are 0. Saves nothing.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end);

/// Copies `part` to the positions of `axis` from `begin` on of `whole`, in place: what `slice` would read there. Not
/// recorded: for what is computed piece by piece without a recording.
void copy_slice(const Tensor& part, int axis, std::int64_t begin, Tensor& whole);

/// Consecutive pieces of `axis`, whose sizes must add up to its extent: the inverse of `concat`. Pieces that nothing
/// depends on contribute gradients of 0. Saves nothing.
std::vector<Tensor> split(const Tensor& x, int axis, std::span<const std::int64_t> sizes);
inline std::vector<Tensor> split(const Tensor& x, int axis, std::initializer_list<std::int64_t> sizes) {
  return split(x, axis, std::span(sizes.begin(), sizes.size()));
}

}  // namespace npzoo
