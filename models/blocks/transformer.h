#pragma once

#include <optional>
#include <vector>

#include "npzoo/models/blocks/attention.h"
#include "npzoo/models/blocks/dropping.h"
#include "npzoo/models/blocks/layer_norm.h"
#include "npzoo/ops/encoder_layer/encoder_layer.h"

namespace npzoo {

enum class NormPlacement { pre, post };

struct TransformerConfig {
  std::int64_t width = 64;
  std::int64_t hidden = 128;  // of the feed-forward network
  std::int64_t heads = 4;
  std::int64_t layers = 6;
  NormPlacement norm = NormPlacement::post;
  double layer_norm_eps = 1e-5;
  std::int64_t attention_width = 0;  // of all heads together, which then scales logits; 0: `width`, and each head's
  std::int64_t head_width = 0;       // of attention without biases of queries, keys and values; 0: as above
  bool gelu = false;                 // in the feed-forward network, instead of ReLU
  bool equal_layers = false;  // all layers start from the same weights, as copies in torch.nn.TransformerEncoder do
  bool final_norm = false;
  std::optional<RandomFeatureConfig> features{};  // makes attention linear

  /// Channels of keys and of values.
  std::int64_t key_width() const {
    return head_width > 0 ? heads * head_width : attention_width > 0 ? attention_width : width;
  }
};

/// Attention and a feed-forward network, each with a residual connection and layer normalisation, before (pre) or
/// after (post) it.
class TransformerLayer {
 public:
  TransformerLayer(const TransformerConfig& config, Initializer& init);

  /// Returns the keys and values of this layer for the context states that enter it, (B, Nc, E). Works in chunks of
  /// points if nothing is recorded, or if attention is linear and the backward pass computes them again.
  KeysValues keys_values(const Tensor& context, const PrefixMask& mask = PrefixMask::all()) const;
  /// The same of a post-norm layer whose keys and values come from different tensors, (B, N, E) each.
  KeysValues project(const Tensor& for_keys, const Tensor& for_values) const {
    return attention.project(for_keys, for_values);
  }
  /// x (B, Nq, E) → (B, Nq, E). The backward pass computes the rows again if there are many and none are dropped
  /// (see recomputes): a recording then keeps x.
  Tensor operator()(const Tensor& x, const KeysValues& context, const PrefixMask& mask,
                    const Dropping& dropping = {}) const;
  /// The layer over points (B, N, E), of which the first `keys` are keys and values for all of them: (B, N, E).
  Tensor over(const Tensor& points, std::int64_t keys, const PrefixMask& mask) const;
  /// True if a recording makes that one operation on the device, for points of this shape.
  bool records_whole(const Shape& points, std::int64_t keys) const;
  // The two halves of the layer, for other forms of attention; all (B, Nq, E).
  /// Returns the input of the projections of queries.
  Tensor before_attention(const Tensor& x) const { return norm_ == NormPlacement::pre ? norm1(x) : x; }
  /// The layer from what x attended to on. `dropping` is of what is between the two matrices of the network.
  Tensor after_attention(const Tensor& x, const Tensor& attended, const Dropping& dropping = {}) const;

  void visit(ModuleVisitor& visitor);

  MultiheadAttention attention;
  LayerNorm norm1, norm2;
  Linear expand, contract;

 private:
  KeysValues keys_values_of(const Tensor& points, const PrefixMask& mask) const;
  /// The layer as one operation; undefined if it is not one here.
  Tensor fused(const Tensor& x, const KeysValues& context, const PrefixMask& mask, const Dropping& dropping) const;
  Tensor feed_forward(const Tensor& x, const Dropping& dropping) const;
  TransformerLayerWeights layer_weights() const;
  EncoderLayerWeights encoder_weights() const;
  TransformerLayerOptions layer_options() const;

  NormPlacement norm_;
  bool gelu_;
};

/// A transformer in which context points attend to the context and target points to the context only. Both streams use
/// the same weights; at every layer the targets read the context states that enter that layer. That equals one encoder
/// over [context; targets] under the mask "keys are context points", but a context is encoded once for all queries, and
/// unused outputs are not computed.
///
/// With pre-norm and a final norm this is the KRStack of TNP-KR (Full, with random features Fast); with post-norm the
/// encoder of TNP-D. When nothing is recorded, long contexts are worked through in chunks.
class TwoStreamTransformer {
 public:
  /// Per layer, what targets attend to.
  using Encoded = std::vector<KeysValues>;

  TwoStreamTransformer(const TransformerConfig& config, Initializer& init);

  /// tokens (B, Nc, E); `mask` says which context points are real.
  Encoded encode(Tensor tokens, const PrefixMask& mask, const Dropping& dropping = {}) const;
  /// tokens (B, Nt, E) → (B, Nt, E)
  Tensor query(const Encoded& context, const Tensor& tokens, const PrefixMask& mask) const;

  /// True if a recording makes each layer over context and targets together one operation on the device.
  bool records_whole(const Shape& tokens, std::int64_t context) const;
  /// The tokens of context and targets (B, Nc + Nt, E), the first Nc = `context` of the context → (B, Nc + Nt, E): what
  /// `query` returns for both.
  Tensor together(Tensor tokens, std::int64_t context, const PrefixMask& mask) const;

  /// See Model::begin_step.
  void begin_step(std::int64_t step);
  void visit(ModuleVisitor& visitor);

  std::vector<TransformerLayer> layers;
  std::optional<LayerNorm> norm;
};

}  // namespace npzoo
