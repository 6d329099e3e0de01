#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "npzoo/models/blocks/attention.h"
#include "npzoo/models/blocks/dropping.h"
#include "npzoo/models/blocks/layer_norm.h"

namespace npzoo {

struct TaylorStreamConfig {
  std::int64_t heads = 1, head_width = 1;
  std::int64_t width = 32;  // E, of all that layers give
  std::int64_t layers = 2;
  std::int64_t values = 0;  // channels of y, which the last layer attends to; 0: to what enters it
};

/// Post-norm attention and a GELU network of one width. What the first layer of a stream adds its result to is
/// projected, since features have another width.
class TaylorLayer {
 public:
  TaylorLayer(const AttentionWidths& widths, std::int64_t heads, bool first, Initializer& init);

  /// x (R, n, ·), attended (R, n, E) → (R, n, E)
  Tensor after_attention(const Tensor& x, const Tensor& attended, const Dropping& dropping = {}) const;
  void visit(ModuleVisitor& visitor);

  MultiheadAttention attention;
  std::optional<Linear> residual;
  LayerNorm norm1;
  Linear expand, contract;
  LayerNorm norm2;
};

/// Layers in which context points attend to the context and targets to the context and the targets before them, never
/// to themselves. Keys of the first layer come from features that know the points' values, its queries from features
/// that do not.
class TaylorStream {
 public:
  /// Per layer, what later points attend to.
  using Encoded = std::vector<KeysValues>;

  TaylorStream(std::int64_t features, const TaylorStreamConfig& config, Initializer& init);

  /// Encodes a context: features (B, Nc, F), y (B, Nc, Dy), `lengths` as in Task.
  Encoded encode(const Tensor& features, const Tensor& y, const Tensor& lengths, const Dropping& dropping = {}) const;
  /// Some targets of each path, in their order, behind those `before`: (B·P, n, E). The first `given` have values; the
  /// encoded ones of these and of `before` come out in `after`.
  Tensor operator()(const Encoded& context, const Tensor& lengths, const Encoded& before, const Tensor& query,
                    const Tensor& key, const Tensor& y, std::int64_t given, Encoded& after,
                    const Dropping& dropping = {}) const;
  /// No targets before.
  Encoded nothing(std::int64_t rows, const Tensor& like) const;
  std::int64_t key_width() const { return inner_; }
  void visit(ModuleVisitor& visitor) { visitor("layers", layers); }

  std::vector<TaylorLayer> layers;

 private:
  KeysValues keys_values(std::size_t layer, const Tensor& x, const Tensor& y) const;

  std::int64_t inner_;
  bool values_of_y_;
};

}  // namespace npzoo
