#pragma once

#include <optional>

#include "npzoo/models/blocks/attention_listener.h"
#include "npzoo/models/blocks/linear.h"
#include "npzoo/models/blocks/random_features.h"
#include "npzoo/ops/masked_attention/masked_attention.h"

namespace npzoo {

/// Projected keys and values: computed once, used any number of times.
struct KeysValues {
  Tensor keys{}, values{};  // (B, N, E)
  KeySummary summary{};     // in their place where attention is linear, or beside them (KeepAttention)
  /// K: there are values of as many samples for the queries of each batch element, (K · B, N, E), and as many keys, or
  /// the same ones for all of them, (B, N, E).
  std::int64_t samples = 1;
  KeyOrigin origin{};
};

/// x (B, N, E) once for each of K samples: (K · B, N, E); x itself where K is 1.
Tensor for_samples(const Tensor& x, std::int64_t samples);
/// Attention of queries (B, Nq, E), projected, → (B, Nq, E), or of K samples (K · B, Nq, E).
Tensor attend(const Tensor& queries, const KeysValues& context, const PrefixMask& mask,
              const AttentionOptions& options);

enum class AttentionBiases : std::uint8_t {
  all,          // initialised as the framework's own attention layer
  output_only,  // initialised as linear layers
  none          // weights N(0, 1 / width), as in DeepMind's code of the attentive neural process
};

/// Channels that queries, keys and values are projected from, those of all heads together, and those that come out.
struct AttentionWidths {
  std::int64_t query = 0, key = 0, value = 0, inner = 0, out = 0;
};

/// Heads whose widths together need not be the width of the layer.
struct HeadWidths {
  std::int64_t width = 0, heads = 1, head_width = 1;

  std::int64_t inner() const { return heads * head_width; }
};

/// Multi-head attention (Vaswani et al., "Attention is all you need", 2017), logits scaled by 1/√(head width); with
/// random features its linear estimate (Choromanski et al., "Rethinking attention with performers", ICLR 2021).
class MultiheadAttention {
 public:
  MultiheadAttention(std::int64_t width, std::int64_t heads, Initializer& init,
                     AttentionBiases biases = AttentionBiases::all);
  MultiheadAttention(std::int64_t width, std::int64_t heads, const RandomFeatureConfig& features, Initializer& init);
  /// Linear layers as the framework makes them; logits are scaled by 1/√(channels of all heads together).
  MultiheadAttention(const AttentionWidths& widths, std::int64_t heads, Initializer& init);
  /// Queries, keys and values without biases, as in the code of cambridge-mlg/tnp. One head of the layer's width has no
  /// output layer.
  MultiheadAttention(const HeadWidths& widths, Initializer& init);

  /// The mask that the queries will have; it must be the same for all of them where attention is linear.
  KeysValues project(const Tensor& context, const PrefixMask& mask = PrefixMask::all()) const {
    return project(context, context, mask);
  }
  /// Keys and values from different tensors, (B, N, E) each.
  KeysValues project(const Tensor& for_keys, const Tensor& for_values,
                     const PrefixMask& mask = PrefixMask::all()) const;
  /// queries (B, Nq, E) → (B, Nq, E), or (K · B, Nq, E)
  Tensor operator()(const Tensor& queries, const KeysValues& context, const PrefixMask& mask) const;

  /// The layer from the attended values (B, Nq, H·D) on: (B, Nq, E).
  Tensor combine(const Tensor& attended) const { return out.weight.value.defined() ? out(attended) : attended; }

  AttentionOptions options() const { return {.heads = heads_, .scale = scale_}; }

  void visit(ModuleVisitor& visitor);

  Linear query, key, value, out;
  std::optional<RandomFeatures> features;

 private:
  RandomFeatureOptions linear_options() const { return {.heads = heads_, .stabiliser = features->stabiliser()}; }

  int heads_;
  double scale_ = 0;
};

}  // namespace npzoo
