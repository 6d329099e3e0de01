#pragma once

#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/model_config.h"
#include "npzoo/models/blocks/attention.h"
#include "npzoo/models/blocks/layer_norm.h"
#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/likelihoods/output_head.h"
#include "npzoo/models/prediction.h"
#include "npzoo/ops/incremental_cross_attention/incremental_cross_attention.h"

// Parts of EQTNP, LBANP and CMANP: the layers of Jaegle et al., "Perceiver: general perception with iterative
// attention", ICML 2021, in the form of these models' authors.

namespace npzoo {

/// The tensor that residual connections of a PerceiverLayer add the result to.
enum class Residual : std::uint8_t {
  normalised,  // the layer's normalised input, as in the code of the three models' authors
  input        // its input, as in their papers and in pre-norm transformers
};

struct PerceiverConfig {
  std::int64_t width = 64;
  std::int64_t hidden = 128;  // of the GEGLU network
  std::int64_t heads = 4;
  Residual residual = Residual::normalised;
};

/// Attention with bias-free queries, keys and values, then a GEGLU network; layer normalisation before both:
///
///     n = LN(x),  h = r(x, n) + attention(n, context),  m = LN(h),  out = r(h, m) + W₂ geglu(W₁ m + b₁) + b₂
///
/// where r takes the normalised argument or the other (Residual). A cross-attention layer normalises what it attends to
/// by a layer norm of its own; the context of a self-attention layer is n.
class PerceiverLayer {
 public:
  enum class Kind : std::uint8_t { self_attention, cross_attention };

  PerceiverLayer(const PerceiverConfig& config, Kind kind, Initializer& init);

  /// Returns the keys and values of a cross-attention layer for a context (B, N, E).
  KeysValues keys_values(const Tensor& context) const { return attention.project((*norm_context)(context)); }
  /// Cross-attention, x (B, Nq, E) → (B, Nq, E).
  Tensor operator()(const Tensor& x, const KeysValues& context, const PrefixMask& mask = PrefixMask::all()) const;
  /// Self-attention, x (B, N, E) → (B, N, E). When nothing is recorded, working memory for a chunk of points at a time.
  Tensor operator()(const Tensor& x, const PrefixMask& mask = PrefixMask::all()) const;
  /// r(x, n) of the formula.
  const Tensor& residual(const Tensor& x, const Tensor& normal) const {
    return residual_ == Residual::input ? x : normal;
  }
  /// How points x (B, N, E) of self-attention look at one another, in the mean over heads: (B, N, N), float64 on the
  /// CPU.
  Tensor weights_among(const Tensor& x) const;
  /// The layer from the sum r(x, n) + attention on. All (B, N, E).
  Tensor after_attention(const Tensor& residual, const Tensor& attended) const;

  void visit(ModuleVisitor& visitor);

  LayerNorm norm1;
  std::optional<LayerNorm> norm_context;  // of cross-attention
  MultiheadAttention attention;
  LayerNorm norm2;
  Linear expand, contract;

 private:
  Residual residual_;
};

/// Latents (B, L, E) that have read N points, and how, while attention is kept (KeepAttention).
struct Latents {
  Tensor states;
  /// (B, L, N), float64 on the CPU: weights of the points by attention alone, in the mean over heads; for each latent
  /// they add up to 1.
  Tensor reading{};
};

/// Latents read a context, then one another.
class LatentLayer {
 public:
  LatentLayer(const PerceiverConfig& config, Initializer& init);

  /// latents (B, L, E), context (B, N, E). In chunks of the context when nothing is recorded.
  Latents operator()(const Tensor& latents, const Tensor& context, const PrefixMask& mask = PrefixMask::all()) const;
  /// The layer from what its latents gathered of a context on; `kept` (B, L, E) is the residual of `cross`.
  Latents after_gathering(const Tensor& kept, const AttentionState& gathered) const;

  void visit(ModuleVisitor& visitor);

  PerceiverLayer cross, self;
};

/// The constructor parameters that EQTNP, LBANP and CMANP have in common; the defaults are those of the papers.
struct PerceiverModelConfig {
  std::int64_t dim_x = 1, dim_y = 1;
  std::int64_t embedder_depth = 4;
  std::int64_t layers = 6;
  PerceiverConfig layer;
  StdForm std;
  double drop_y = 0;  // see drop_values
  Likelihood likelihood{};
};

/// Reads dim_x, dim_y, d_model, emb_depth, dim_feedforward, nhead, num_layers and, if they are given, dropout (which
/// must be 0), bound_std (σ = 0.05 + 0.95 softplus), residual ("normalised" or "input") and drop_y. `model` opens the
/// messages.
PerceiverModelConfig read_perceiver_config(ConfigReader& reader, const std::string& model);

/// Embeds context points [x; y].
Mlp perceiver_embedder(const PerceiverModelConfig& config, Initializer& init);

/// How the three models answer: targets, embedded by a network of their own, read one state of the context in each
/// layer and nothing of each other.
class PerceiverDecoder {
 public:
  PerceiverDecoder(const PerceiverModelConfig& config, Initializer& init);

  /// Returns the keys and values that layer `i` reads of a state (B, N, E): of context points, or of latents.
  KeysValues keys_values(std::size_t i, const Tensor& state) const { return keys_values(i, Latents{state}); }
  KeysValues keys_values(std::size_t i, const Latents& latents) const;
  /// Targets xt (B, Nt, Dx) → (B, Nt, E); `context` has what each layer reads, else Error. Here and below in chunks of
  /// targets when nothing is recorded.
  Tensor encode(const Tensor& xt, const std::vector<KeysValues>& context, const PrefixMask& mask) const;
  /// Predicts targets with `predictor`.
  std::unique_ptr<Prediction> operator()(const Tensor& xt, const std::vector<KeysValues>& context,
                                         const PrefixMask& mask) const;

  void visit(ModuleVisitor& visitor);

  Mlp embedder;
  std::vector<PerceiverLayer> layers;
  LayerNorm norm;
  Mlp predictor;

 private:
  /// f of the encodings of each chunk of targets.
  template <class F>
  Tensor chunks(const Tensor& xt, const std::vector<KeysValues>& context, const PrefixMask& mask, const F& f) const;

  StdForm std_;
  Likelihood likelihood_;
};

}  // namespace npzoo
