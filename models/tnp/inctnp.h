#pragma once

#include "npzoo/models/blocks/causal_transformer.h"
#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/likelihoods/output_head.h"
#include "npzoo/models/model.h"
#include "npzoo/models/tnp/target_buffer.h"

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
  std::int64_t buffer = 0;     // the most targets in the buffer; 0: there is none
};

/// A context whose keys and values are kept: memory linear in its points, which themselves are gone.
struct IncTnpState final : ContextState {
  CausalTransformer::Cache cache;
};

/// The same, and the targets in the buffer behind it.
struct IncTnpBufferState final : ContextState, BufferedState {
  std::unique_ptr<ContextState> with_buffer(Context points, BufferRows rows) const override;
  std::int64_t context_points() const override { return cache.rows.count(); }

  CausalTransformer::Cache cache;
};

/// incTNP, the incremental transformer neural process (Mortimer et al., "Incremental transformer neural processes",
/// ICML 2026): a CausalTransformer over tokens [x; y; 0] of the context and [x; 0; 1] of the targets. Its predictions
/// depend on the order of the context. A new point costs time linear in the points before, instead of the square of
/// their number.
///
/// incTNP-Seq is the same network with another loss: context and targets are one sequence, and every point but the
/// first is predicted from those before it, in one pass. 1,058,818 parameters in one dimension, both.
///
/// With a buffer (target_buffer.h), incTNP predicts targets in turn, too. A buffer point is a context point with a
/// learned vector of its place in the buffer. It reads the context, the buffer points before it and itself. Its states
/// never enter the cache of the context, so all sample paths share that cache. Training is that of TnpBuffer.
class IncTnp final : public Model, public BufferedModel {
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

  std::int64_t buffer_size() const override { return config_.buffer; }
  std::int64_t components() const override { return 1; }
  std::shared_ptr<const ContextState> with_empty_buffer(const ContextState& state) const override;
  std::shared_ptr<const BufferedModel> sharing_weights() const override {
    return std::make_shared<const IncTnp>(*this);
  }
  Tensor buffer_tokens(const ContextState& state, const Tensor& x, const Tensor& y, std::int64_t first) const override;
  Tensor target_tokens(const ContextState& state, const Tensor& x) const override;
  /// Row 2 i is read by buffer points in layer i, row 2 i + 1 by targets.
  std::int64_t row_count() const override { return 2 * config_.transformer.layers; }
  std::int64_t row_width() const override { return config_.transformer.key_width(); }
  KeysValues row_of(std::size_t row, const Tensor& states) const override;
  Marginals predict(const ContextState& state, const BufferStream& stream, const ReadRow& read) const override;
  Marginals given_context_alone(const ContextState& state, const Tensor& xt) const override;
  std::unique_ptr<ContextState> absorbed(const ContextState& state, const Context& points) const override;

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
  Parameter positions;  // (K, E): of places in the buffer; undefined without one

 private:
  /// (B, N, E) each.
  Tensor context_tokens(const Tensor& x, const Tensor& y) const;
  Tensor tokens_of_targets(const Tensor& x) const;
  Tensor loss_through_buffer(const Task& task, Draws& draws) const;

  IncTnpConfig config_;
};

/// Reads dim_x, dim_y, embed_dim, num_heads, head_dim, feedforward_dim, num_layers, xy_width, xy_layers, dec_width,
/// dec_layers and, if they are given, norm_first and min_noise. `make_inctnp` also reads buffer and the keys of
/// read_likelihood, and throws Error for a buffer with another likelihood than the Gaussian.
std::unique_ptr<Model> make_inctnp(const ModelConfig& config, const InitialWeights& weights);
std::unique_ptr<Model> make_inctnp_seq(const ModelConfig& config, const InitialWeights& weights);

}  // namespace npzoo
