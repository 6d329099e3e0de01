#pragma once

#include <array>

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Numbers of zeros before and after an axis. A transposed convolution removes as many outputs instead.
struct Padding {
  std::int64_t before = 0, after = 0;
};

/// Settings for the axes of space in their order, (row, column) or (position). With one axis only the first entries
/// count.
struct ConvolutionConfig {
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<Padding, 2> padding = {};
  std::array<std::int64_t, 2> output_padding = {};  // of transposed convolutions: outputs added at the end
  std::int64_t groups = 1;                          // equal parts of the channels that do not mix

  /// Returns the padding with which a kernel of `rows` × `columns` and stride 1 keeps the size of the input. An odd
  /// zero goes to the end, as with 'SAME' of TensorFlow and flax.
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
/// same part of O; groups = C = O is depth-wise. B, C and O may be 0. Kernel rows that lie wholly in the padding are
/// skipped. A non-finite weight in such a row does not make the output NaN, as 0 · ∞ would.
///
/// Computes products of matrices that gather their rows from the image; depth-wise, sums over vectors of channels.
/// Needs memory for a few rows of an image per thread, for a copy of the weights (gradient of x), and for partial sums
/// no larger than x and y (gradient of the weights). A GPU computes in float32, whatever the precision of matrix
/// products. Saves x and weight. Throws Error if shapes disagree, strides are less than 1, padding is negative, the
/// kernel is larger than the padded input, or stride, padding or padded input exceed 2³¹, 2³¹ and 2⁴⁸ elements.
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvolutionConfig& config = {});

/// The transpose of `convolution` in x: adds x(b, i, j, c) weight(k, l, c, o) to y(b, stride i + k − before,
/// stride j + l − before, o), and bias(o) to all. Like PyTorch's ConvTranspose it does not flip the kernel; flax does,
/// unless `transpose_kernel` is set.
///
/// x (B, H, W, C), weight (KH, KW, C / groups, O) and bias (O) or undefined
/// → (B, (H − 1) stride − before − after + KH + output_padding, …, O), or the same with one axis of space. Costs and
/// saves the same as `convolution`. Also throws Error if the output padding is not less than the stride, or if the
/// output would be empty.
Tensor transposed_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const ConvolutionConfig& config = {});

}  // namespace npzoo
