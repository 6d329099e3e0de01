#pragma once

#include "models/blocks/linear.h"
#include "ops/masked_attention/masked_attention.h"

namespace npzoo {

/// What queries attend to, projected once and used any number of times. Both (B, N, E).
struct KeysValues {
  Tensor keys, values;
};

enum class AttentionBiases : std::uint8_t {
  all,         // initialised as the framework's own attention layer
  output_only  // initialised as linear layers
};

/// Multi-head attention (Vaswani et al., "Attention is all you need", 2017), logits scaled by 1/√(head width).
class MultiheadAttention {
 public:
  MultiheadAttention(std::int64_t width, std::int64_t heads, Initializer& init,
                     AttentionBiases biases = AttentionBiases::all);

  KeysValues project(const Tensor& context) const { return {key(context), value(context)}; }
  /// queries (B, Nq, E) → (B, Nq, E)
  Tensor operator()(const Tensor& queries, const KeysValues& context, const PrefixMask& mask) const;

  AttentionOptions options() const { return {.heads = heads_}; }

  void visit(ModuleVisitor& visitor);

  Linear query, key, value, out;

 private:
  int heads_;
};

}  // namespace npzoo
