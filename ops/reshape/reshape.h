#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// The same elements in row-major order under another shape of equal size.
///
/// Any shape, any dtype; shares x's storage. Throws Error when the sizes differ. Saves nothing.
Tensor reshape(const Tensor& x, const Shape& shape);

/// x repeated along new leading axes and along axes of extent 1, until it has `shape`.
///
/// Axes are aligned at the end; float32 or float64. A copy, or x itself where it has that shape already. An extent of 1
/// may be stretched to 0. The backward pass sums over the repetitions. Throws Error when an axis of x is neither 1 nor
/// that of `shape`. Saves nothing.
Tensor broadcast_to(const Tensor& x, const Shape& shape);

}  // namespace npzoo
