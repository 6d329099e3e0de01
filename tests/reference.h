#pragma once

#include <functional>

#include "npzoo/engine/tensor.h"

/// Plain loops for all operations. They compute in the dtype of the arguments, which must be one: in double for
/// reference values, in float to show the accuracy of a version without special care.
namespace npzoo::reference {

/// x repeated to `shape` by the rules of broadcasting.
Tensor broadcast_to(const Tensor& x, const Shape& shape);

/// The last two axes exchanged.
Tensor transpose(const Tensor& x);

/// a (…, M, K) and b (…, K, N); one of them may lack the leading axes.
Tensor matmul(const Tensor& a, const Tensor& b);

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, bool relu);

struct LinearGradients {
  Tensor x, weight, bias;
};
LinearGradients linear_backward(const Tensor& x, const Tensor& weight, const Tensor& bias, bool relu,
                                const Tensor& d_out);

Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps = 1e-5);

struct LayerNormGradients {
  Tensor x, gain, bias;
};
LayerNormGradients layer_norm_backward(const Tensor& x, const Tensor& gain, const Tensor& d_out, double eps = 1e-5);

/// Values, then gates, in the last axis.
Tensor geglu(const Tensor& x);
Tensor geglu_backward(const Tensor& x, const Tensor& d_out);

/// Attention with a dense mask: whether row `query` of `batch` sees `key`. The score is scale · q·k, or
/// −scale · Σ |q − k|.
struct Attention {
  int heads;
  double scale;
  std::function<bool(std::int64_t batch, std::int64_t query, std::int64_t key)> sees;
  bool laplace = false;
};

Tensor attention(const Attention& options, const Tensor& q, const Tensor& k, const Tensor& v);

struct AttentionGradients {
  Tensor q, k, v;
};
AttentionGradients attention_backward(const Attention& options, const Tensor& q, const Tensor& k, const Tensor& v,
                                      const Tensor& d_out);

}  // namespace npzoo::reference
