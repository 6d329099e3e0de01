#pragma once

#include <cstdint>

#include "npzoo/engine/kernel.h"
#include "npzoo/ops/transformer_layer/kernels.h"

namespace npzoo {

/// The most keys of a layer that is one kernel: shared memory holds the keys and values of all heads.
inline constexpr std::int64_t kMostEncoderKeys = 128;

template <class T>
struct EncoderLayerForward {
  TransformerLayerForward<T> layer;  // its keys and values are null: they are those of its first rows
  LayerWeights<T> key, value;
};

/// Parameters of a layer, in the order of their gradients: matrices, then vectors.
enum class EncoderParameter : std::uint8_t {
  query,
  key,
  value,
  out,
  expand,
  contract,
  query_bias,
  key_bias,
  value_bias,
  out_bias,
  contract_bias,
  norm1_gain,
  norm1_bias,
  norm2_gain,
  norm2_bias,
  expand_bias
};
inline constexpr int kEncoderParameters = 16, kEncoderMatrices = 6;

/// Places of the gradients of all matrices, or of all vectors, one behind the other.
struct EncoderGradients {
  std::int64_t width, hidden;

  /// Returns the elements before the gradient of a matrix or a vector; `number` may be one behind the last.
  NPZOO_DEVICE std::int64_t before(int number) const {
    const int vector = number - kEncoderMatrices;
    if (vector < 0) return width * (number <= 4 ? number * width : 4 * width + (number - 4) * hidden);
    return vector < kEncoderParameters - kEncoderMatrices ? vector * width : vectors();
  }
  NPZOO_DEVICE std::int64_t before(EncoderParameter parameter) const { return before(static_cast<int>(parameter)); }
  NPZOO_DEVICE std::int64_t matrices() const { return width * (4 * width + 2 * hidden); }
  NPZOO_DEVICE std::int64_t vectors() const { return (kEncoderParameters - kEncoderMatrices - 1) * width + hidden; }
};

template <class T>
struct EncoderLayerBackward {
  EncoderLayerForward<T> forward;  // without a result
  const T* d_result;
  T* d_x;
  /// Gradients of parameters; null where nobody needs them.
  T* d_parameters[kEncoderParameters];
  bool accumulate[kEncoderParameters];  // adds to what is there
};

/// A question: has a block of the device shared memory for a layer, in the precision in use?
template <class T>
struct EncoderLayerRoom {
  std::int64_t keys, head_width;
  bool* enough;
};

/// For float32, width 64, heads of 16 or 32, hidden layers of a multiple of 16, and at most `kMostEncoderKeys` keys.
NPZOO_CUDA_KERNEL(encoder_layer_forward, EncoderLayerForward);
NPZOO_CUDA_KERNEL(encoder_layer_backward, EncoderLayerBackward);
NPZOO_CUDA_KERNEL(encoder_layer_room, EncoderLayerRoom);

}  // namespace npzoo
