#pragma once

#include "engine/tensor.h"

namespace npzoo {

/// y += x, element by element, in place. Shapes and dtypes must be equal.
void add_into(Tensor& y, const Tensor& x);

/// Sums `x` over the axes along which `shape` was broadcast to x's shape: the adjoint of broadcasting.
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace npzoo
