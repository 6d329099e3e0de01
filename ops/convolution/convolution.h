#pragma once

#include <array>

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Zeros in front of and behind an axis. (A transposed convolution cuts off so much of its output instead.)
struct Padding {
  std::int64_t before = 0, after = 0;
};

/// Settings for the axes of space in their order, (row, column) or (position). One axis uses the first entries alone.
struct ConvolutionConfig {
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<Padding, 2> padding = {};
  std::array<std::int64_t, 2> output_padding = {};  // of transposed convolutions: that much more behind the output
  std::int64_t groups = 1;                          // equal parts of the channels that do not see each other

  /// Zeros so that with stride 1 the output is as large as the input, the odd one behind ('SAME' of TensorFlow and
  /// flax), for a kernel of `rows` × `columns`.
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
/// same part of O; groups = C = O is depth-wise. B, C and O may be 0. Zeros of padding are not multiplied with what
/// stands in whole rows of the kernel, so that weights that are not finite may be heard of less than elsewhere.
///
/// Products of matrices that gather their rows from the image as they go; depth-wise, sums with channels side by side.
/// Beside input and output there are a few rows of an image per thread, a copy of the weights for the gradient of x,
/// and for that of the weights partial sums no larger than x and y. Float32 on a GPU as well, whatever the precision of
/// matrix products. Saves x and weight. Throws Error if shapes disagree, strides are less than 1, padding is negative
/// or the kernel is larger than the padded input.
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvolutionConfig& config = {});

/// The transpose of that in x: x(b, i, j, c) weight(k, l, c, o) is added to y(b, stride i + k − before,
/// stride j + l − before, o), and bias(o) to all. Not flipped: PyTorch's ConvTranspose; flax's without
/// `transpose_kernel` has the kernel reversed.
///
/// x (B, H, W, C), weight (KH, KW, C / groups, O) and bias (O) or undefined
/// → (B, (H − 1) stride − before − after + KH + output_padding, …, O), or the same with one axis of space. Costs and
/// saves what `convolution` does. Throws Error besides where the output padding is not less than the stride, or the
/// output would be empty.
Tensor transposed_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const ConvolutionConfig& config = {});

}  // namespace npzoo
