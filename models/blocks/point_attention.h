#pragma once

#include <optional>
#include <variant>

#include "npzoo/models/blocks/attention.h"
#include "npzoo/models/blocks/transformer.h"

namespace npzoo {

/// The attention of the NP family in TNP-pytorch and BNP (Lee et al., "Bootstrapping neural processes", NeurIPS 2020):
///
///     h = LN(q + attention(q, k, v)),  out = LN(h + ReLU(W h + b))
///
/// with bias-free projections q, k, v. The residual connection begins behind the projection of the queries, and logits
/// are scaled by 1/√width, not by that of a head.
class NormalisedAttention {
 public:
  NormalisedAttention(std::int64_t width, Initializer& init);

  KeysValues project(const Tensor& for_keys, const Tensor& for_values) const;
  Tensor operator()(const Tensor& queries, const KeysValues& context, const PrefixMask& mask) const;

  void visit(ModuleVisitor& visitor);

  Linear query, key, value, out;
  LayerNorm norm1, norm2;

 private:
  static constexpr int kHeads = 8;
};

/// Attention without parameters.
struct PlainAttention {
  KeysValues project(const Tensor& for_keys, const Tensor& for_values) const { return {for_keys, for_values}; }
  Tensor operator()(const Tensor& queries, const KeysValues& context, const PrefixMask& mask) const {
    return attend(queries, context, mask, options);
  }
  void visit(ModuleVisitor& /*visitor*/) {}

  AttentionOptions options;
};

/// How points attend to a context in conditional and latent neural processes. Queries, keys and values have one width,
/// except where attention has no parameters.
class PointAttention {
 public:
  using Form = std::variant<NormalisedAttention, MultiheadAttention, TransformerLayer, PlainAttention>;

  explicit PointAttention(Form form) : form_(std::move(form)) {}

  /// Projects what is attended to, (B, N, E) each.
  KeysValues project(const Tensor& for_keys, const Tensor& for_values) const {
    return std::visit([&](const auto& form) { return form.project(for_keys, for_values); }, form_);
  }
  /// queries (B, Nq, E) → (B, Nq, Ev)
  Tensor operator()(const Tensor& queries, const KeysValues& context, const PrefixMask& mask) const {
    return std::visit([&](const auto& form) { return form(queries, context, mask); }, form_);
  }
  /// Each point of x (B, N, E) attends to those that `mask` shows. In chunks of points when nothing is recorded.
  Tensor among(const Tensor& x, const PrefixMask& mask) const;

  void visit(ModuleVisitor& visitor) {
    std::visit([&](auto& form) { form.visit(visitor); }, form_);
  }

 private:
  Form form_;
};

}  // namespace npzoo
