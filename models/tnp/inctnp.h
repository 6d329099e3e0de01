#pragma once

#include "npzoo/models/blocks/causal_transformer.h"
#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/likelihoods/output_head.h"
#include "npzoo/models/model.h"

namespace npzoo {

struct IncTnpConfig {
  std::int64_t dim_x = 1, dim_y = 1;
  std::int64_t embedder_layers = 2, embedder_width = 128;    // hidden layers of the embedding of points
  std::int64_t predictor_layers = 2, predictor_width = 128;  // and of the predicting network
  TransformerConfig transformer{
      .width = 128, .hidden = 128, .heads = 8, .layers = 5, .norm = NormPlacement::pre, .head_width = 16};
  StdForm std{StdForm::Kind::root_softplus};
  Likelihood likelihood{};     // of incTNP
  bool sequence_loss = false;  // as incTNP-Seq is trained
};

/// A context whose keys and values are kept: memory linear in its points, which themselves are gone.
struct IncTnpState final : ContextState {
  CausalTransformer::Cache cache;
};

/// incTNP, the incremental transformer neural process (Mortimer et al., "Incremental transformer neural processes",
/// ICML 2026): a CausalTransformer over tokens [x; y; 0] of the context and [x; 0; 1] of the targets. Its predictions
/// depend on the order of the context. A new point costs time linear in the points before, instead of the square of
/// their number.
///
/// incTNP-Seq is the same network with another loss: context and targets are one sequence, and every point but the
/// first is predicted from those before it, in one pass. 1,058,818 parameters in one dimension, both.
class IncTnp final : public Model {
 public:
  IncTnp(const IncTnpConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<ContextState> do_update(const ContextState& state, const Context& more) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  bool streams() const override { return true; }
  bool state_grows() const override { return true; }
  /// incTNP: the mean negative log-likelihood of the targets. incTNP-Seq: that of `predict_sequence`, in the mean over
  /// channels as well.
  Tensor loss(const Task& task, Draws& draws) const override;

  /// A sequence of points, and how each one but the first is predicted from those before it.
  struct Sequence {
    Moments moments;   // (B, N − 1, Dy)
    Tensor y;          // (B, N − 1, Dy): their values
    Tensor weights{};  // (B, N − 1): how much each counts; undefined: all alike
  };
  /// The points of the context, then the targets, in one pass. `draws` recompute lengths in captured steps.
  Sequence predict_sequence(const Task& task, Draws& draws) const;

  /// Returns the state after the points of a context. If `leaving` is given, appends the states of the new points that
  /// leave each layer.
  std::unique_ptr<IncTnpState> extended(const IncTnpState& state, const Context& more,
                                        std::vector<Tensor>* leaving = nullptr) const;

  void visit(ModuleVisitor& visitor) override;
  std::optional<double> std_floor() const override { return floor_of(config_.likelihood, config_.std.least()); }
  Likelihood likelihood() const override { return config_.likelihood; }
  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }
  const IncTnpConfig& config() const { return config_; }

  Mlp embedder;
  CausalTransformer encoder;
  Mlp predictor;

 private:
  /// (B, N, E) each.
  Tensor context_tokens(const Tensor& x, const Tensor& y) const;
  Tensor target_tokens(const Tensor& x) const;

  IncTnpConfig config_;
};

/// Reads dim_x, dim_y, embed_dim, num_heads, head_dim, feedforward_dim, num_layers, xy_width, xy_layers, dec_width,
/// dec_layers and, if they are given, norm_first and min_noise.
std::unique_ptr<Model> make_inctnp(const ModelConfig& config, const InitialWeights& weights);
std::unique_ptr<Model> make_inctnp_seq(const ModelConfig& config, const InitialWeights& weights);

}  // namespace npzoo
