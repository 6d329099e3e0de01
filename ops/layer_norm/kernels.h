#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

template <class T>
struct LayerNormForward {
  std::int64_t rows, width;
  const T* x;
  const T* residual;  // null: none
  const T* gain;
  const T* bias;
  T eps;
  T* sum;  // x + residual; null without residual
  T* out;
  T* mean;               // (rows)
  T* inverse_deviation;  // (rows)
};

template <class T>
struct LayerNormBackward {
  std::int64_t rows, width;
  const T* x;  // the input of the normalisation
  const T* gain;
  const T* mean;
  const T* inverse_deviation;
  const T* d_out;
  const T* d_sum;  // null: none; added to d_x
  T* d_x;
  T* d_gain;  // (width); null when neither gain nor bias needs a gradient
  T* d_bias;  // (width)
};

NPZOO_KERNEL(layer_norm_forward, LayerNormForward);

NPZOO_KERNEL(layer_norm_backward, LayerNormBackward);

}  // namespace npzoo
