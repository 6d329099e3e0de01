#pragma once

#include <optional>
#include <vector>

#include "npzoo/models/blocks/attention.h"
#include "npzoo/models/blocks/layer_norm.h"
#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/blocks/transformer.h"

namespace npzoo {

struct TeAttentionConfig {
  std::int64_t dim_x = 1;
  std::int64_t width = 128;   // of tokens
  std::int64_t hidden = 128;  // of the feed-forward network
  std::int64_t heads = 8, head_width = 16;
  std::int64_t kernel_layers = 2, kernel_width = 128;  // hidden layers of the network that scores pairs, and of `move`
  std::int64_t move_width = 0;                         // numbers that `move` gives: 0 (there is none), 1 or dim_x
  NormPlacement norm = NormPlacement::pre;
};

/// Tokens (B, N, E) at places (B, N, Dx).
struct PlacedTokens {
  Tensor tokens, places;
};

/// What queries read of points: projected once, used any number of times.
struct PlacedKeys {
  Tensor keys, values;  // (B, N, H·D) each
  Tensor places;        // (B, N, Dx)
  Tensor lengths{};     // (B): real points; undefined: all
  KeyOrigin origin{};
};

/// Translation-equivariant attention (Ashman et al., "Translation equivariant transformer neural processes", ICML
/// 2024). A network scores each pair by the difference of places and the dot products of all heads:
///
///     r(i, j) = kernel([x_i − x_j; q_i1·k_j1 / √D; …; q_iH·k_jH / √D]),  w(i, ·, h) = softmax_j r(i, j)_h
///
/// If there is a network `move`, a query then moves to x_i + mean_j (x_i − x_j) move(w(i, j)).
///
/// Queries are worked through in chunks, which bounds the memory for pairs. A recording keeps queries and keys alone:
/// its backward pass computes pairs again.
class TeAttention {
 public:
  TeAttention(const TeAttentionConfig& config, Initializer& init);

  PlacedKeys project(const PlacedTokens& points, const Tensor& lengths) const {
    return {key(points.tokens), value(points.tokens), points.places, lengths};
  }
  /// Queries (B, Nq, E) at (B, Nq, Dx) → what they attended to, (B, Nq, E), and where they are then, unless `moves` is
  /// false: then the places are as they were.
  PlacedTokens operator()(const PlacedTokens& queries, const PlacedKeys& read, bool moves = true) const;
  /// Weights of the keys in each head, (B, H, Nq, N), float64 on the CPU.
  Tensor weights(const PlacedTokens& queries, const PlacedKeys& read) const;

  void visit(ModuleVisitor& visitor);

  Linear query, key, value, out;
  Mlp kernel;
  std::optional<Mlp> move;

 private:
  std::vector<Tensor> inputs(const PlacedTokens& queries, const PlacedKeys& read, bool moves) const;

  std::int64_t heads_;
};

/// Attention and a feed-forward network with residual connections. Pre-norm: z + A(n₁ z), then z + F(n₂ z). Post-norm
/// normalises the first half alone: n₁(z + A(z)), then z + F(n₂ z), as in the authors' code.
class TeLayer {
 public:
  TeLayer(const TeAttentionConfig& config, Initializer& init);

  PlacedKeys keys(const PlacedTokens& points, const Tensor& lengths = {}) const;
  PlacedTokens operator()(const PlacedTokens& queries, const PlacedKeys& read, bool moves = true) const;
  /// Weights of `read` in the mean over heads, (B, Nq, N), float64 on the CPU.
  Tensor mean_weights(const PlacedTokens& queries, const PlacedKeys& read) const;

  void visit(ModuleVisitor& visitor);

  TeAttention attention;
  LayerNorm norm1, norm2;
  Linear expand, contract;

 private:
  Tensor entering(const Tensor& tokens) const { return norm_ == NormPlacement::pre ? norm1(tokens) : tokens; }

  NormPlacement norm_;
};

}  // namespace npzoo
