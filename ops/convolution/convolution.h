#pragma once

#include <array>

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Zeros before and after an axis. A transposed convolution removes as many positions of its output instead.
struct Padding {
  std::int64_t before = 0, after = 0;
};

/// Settings of the axes of space in their order, (row, column) or (position). With one axis, only the first entries
/// count.
struct ConvolutionConfig {
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<Padding, 2> padding = {};
  std::array<std::int64_t, 2> output_padding = {};  // of transposed convolutions: positions added after the output
  std::int64_t groups = 1;                          // equal parts of the channels; outputs read inputs of their part

  /// Padding with which an output of stride 1 is as large as the input, for a kernel of `rows` × `columns`. An odd zero
  /// comes after the axis ('SAME' of TensorFlow and flax).
  static ConvolutionConfig same(std::int64_t rows, std::int64_t columns = 1) {
    return {.padding = {{{(rows - 1) / 2, rows / 2}, {(columns - 1) / 2, columns / 2}}}};
  }
};

/// y(b, i, j, o) = bias(o) + Σ over k, l, c of x(b, stride i + k − before, stride j + l − before, c) weight(k, l, c,
/// o), where x is 0 outside: a cross-correlation, as in all frameworks. Channels come last, as in rows of points.
///
/// x (B, H, W, C), weight (KH, KW, C / groups, O) and bias (O) or undefined
/// → (B, (H + before + after − KH) / stride + 1, …, O), rounded down; with one axis of space x (B, L, C), weight
/// (K, C / groups, O) → (B, …, O). float32 or float64. Group g takes channels [g C / groups, (g + 1) C / groups) to the
/// same part of O; groups = C = O is depth-wise. B, C and O may be 0. Rows of the kernel that lie in the padding are
/// skipped: a weight there that is not finite does not reach y, whereas other frameworks return 0 · NaN.
///
/// Computes products of matrices whose rows are gathered from the image. Depth-wise convolutions sum channels side by
/// side. Extra memory: a few rows of an image per thread, a copy of the weights for the gradient of x, and partial sums
/// no larger than x and y for the gradient of the weights. A GPU computes in float32 as well, whatever the precision of
/// matrix products. Saves x and weight. Throws Error if shapes disagree, strides are less than 1, padding is negative,
/// the kernel is larger than the padded input, or stride, padding or padded input exceed 2³¹, 2³¹ and 2⁴⁸ elements.
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvolutionConfig& config = {});

/// The transpose of `convolution` in x: adds x(b, i, j, c) weight(k, l, c, o) to y(b, stride i + k − before,
/// stride j + l − before, o), and bias(o) to all. The kernel is not reversed, as in PyTorch's ConvTranspose. In flax it
/// is, without `transpose_kernel`.
///
/// x (B, H, W, C), weight (KH, KW, C / groups, O) and bias (O) or undefined
/// → (B, (H − 1) stride − before − after + KH + output_padding, …, O), or the same with one axis of space. Time, memory
/// and saved tensors are those of `convolution`. Also throws Error if the output padding is not less than the stride or
/// the output is empty.
Tensor transposed_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const ConvolutionConfig& config = {});

}  // namespace npzoo
