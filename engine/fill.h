#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// y += x, element by element, in place. Shapes and dtypes must be equal.
void add_into(Tensor& y, const Tensor& x);

/// Sets every element to `value`; of a tensor on a CUDA device.
void fill(Tensor& x, double value);
/// y = x, converted to y's dtype; of floating-point tensors on a CUDA device.
void convert(const Tensor& x, Tensor& y);

/// Sums `x` over the axes along which `shape` was broadcast to x's shape: the adjoint of broadcasting.
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace npzoo
