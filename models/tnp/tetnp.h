#pragma once

#include <optional>

#include "npzoo/models/blocks/te_attention.h"
#include "npzoo/models/likelihoods/output_head.h"
#include "npzoo/models/model.h"

namespace npzoo {

struct TeTnpConfig {
  std::int64_t dim_y = 1;
  std::int64_t embedder_layers = 2, embedder_width = 128;    // hidden layers of the embedding of values
  std::int64_t predictor_layers = 2, predictor_width = 128;  // and of the predicting network
  std::int64_t layers = 5;
  TeAttentionConfig layer;
  bool shared_layers = true;  // one layer serves the context and the targets
  std::int64_t latents = 0;   // pseudo-tokens; 0: points attend to one another
  StdForm std{StdForm::Kind::root_softplus};
  Likelihood likelihood{};
};

/// TE-TNP, the translation-equivariant transformer neural process (Ashman et al., "Translation equivariant transformer
/// neural processes", ICML 2024): tokens hold values alone, [y; 0] for the context and [0; 1] for targets, and places
/// enter by the differences in TeAttention. A shift of all inputs changes no prediction.
///
/// In each layer the context attends to itself, then targets to the context that leaves the layer. With `latents` it is
/// TE-IST, the induced set transformer: pseudo-tokens at the mean of the context's places plus learned offsets read the
/// context, the context and the targets read them. In one dimension 656,810 parameters, 1,246,930 without
/// `shared_layers`.
class TeTnp final : public Model {
 public:
  TeTnp(const TeTnpConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  void visit(ModuleVisitor& visitor) override;
  std::optional<double> std_floor() const override { return floor_of(config_.likelihood, config_.std.least()); }
  Likelihood likelihood() const override { return config_.likelihood; }
  std::int64_t dim_x() const override { return config_.layer.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }
  const TeTnpConfig& config() const { return config_; }

  /// What leaves each layer.
  struct Trace {
    std::vector<PlacedTokens> context, latents, targets;
  };
  /// Returns what targets read in each layer; adds to `trace` if it is given.
  std::vector<PlacedKeys> encode(const Context& context, Trace* trace = nullptr) const;
  /// Targets (B, Nt, Dx) → (B, Nt, E).
  Tensor encode_targets(const std::vector<PlacedKeys>& read, const Tensor& xt, Trace* trace = nullptr) const;

  Mlp embedder;
  std::vector<TeLayer> context_layers;  // none if they are shared, or if there are latents
  std::vector<TeLayer> target_layers;
  Parameter latent_tokens, latent_places;                 // (L, E) and (L, Dx), undefined without latents
  std::vector<TeLayer> reading_layers, returning_layers;  // latents ← context, context ← latents
  Mlp predictor;

 private:
  std::vector<PlacedKeys> encode_points(PlacedTokens context, const Tensor& lengths, Trace* trace) const;
  std::vector<PlacedKeys> encode_latents(PlacedTokens context, const Tensor& lengths, Trace* trace) const;

  TeTnpConfig config_;
};

/// Reads dim_x, dim_y, embed_dim, num_heads, head_dim, feedforward_dim, num_layers, kernel_width, kernel_layers,
/// y_width, y_layers, dec_width, dec_layers and, if they are given, norm_first, shared_layers, phi_out, num_latents and
/// min_noise.
std::unique_ptr<Model> make_tetnp(const ModelConfig& config, const InitialWeights& weights);

}  // namespace npzoo
