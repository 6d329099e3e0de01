#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Computes y += x, element by element, in place. Throws Error unless shapes, dtypes and devices are equal.
void add_into(Tensor& y, const Tensor& x);

/// Sets every element of a tensor on a CUDA device to `value`. Throws Error if `x` is on the CPU.
void fill(Tensor& x, double value);
/// Computes y = x, converted to y's dtype, for floating-point tensors on a CUDA device. Throws Error if one is on the
/// CPU.
void convert(const Tensor& x, Tensor& y);

/// Sums `x` over the axes along which `shape` was broadcast to x's shape (the adjoint of broadcasting) and multiplies
/// by `factor`. Both are done in double and rounded once.
Tensor sum_to(const Tensor& x, const Shape& shape, double factor = 1);

}  // namespace npzoo
