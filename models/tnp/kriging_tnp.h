#pragma once

#include <string>

#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/blocks/transformer.h"
#include "npzoo/models/model.h"
#include "npzoo/models/tnp/target_buffer.h"
#include "npzoo/ops/kriging/kriging.h"

namespace npzoo {

struct KrigingTnpConfig {
  std::int64_t dim_x = 1, dim_y = 1;
  std::string bank = "broad-1";  // see kriging_bank.h
  std::int64_t kernels = 8;      // of the bank, that are kept for each task
  std::int64_t components = 3;   // Gaussians in a prediction
  std::int64_t embedder_depth = 2;
  std::int64_t head_hidden = 128;
  TransformerConfig transformer{};
  std::int64_t buffer = 0;  // the most targets in the buffer; 0: there is none
};

struct KrigedPoints;
struct KrigingTnpState;

/// A transformer neural process that corrects kriging, which stands in what the network sees and in what it says: a
/// Gaussian process regression averaged over a bank of kernels (`npzoo/ops/kriging`) gives mean μ and deviation σ at
/// each target, and at each context point given all others. Tokens are, of the context [x; y; (y − μ) / σ; log σ; how
/// far kernels disagree; 1], of targets [x; μ; 0; log σ; disagreement; 0]; the transformer is that of TNP-D. Its head
/// gives weights, δ and s of a mixture of Gaussians N(μ + σ δ, (σ exp s)²). Before training all δ are 0, and most of
/// the weight is on s = 0: it begins as kriging.
///
/// Values are expected to have mean 0 and standard deviation 1 or so in each task, as `predict` makes them. Each
/// channel is kriged by itself. One to three inputs.
///
/// With a buffer (target_buffer.h), targets are predicted in turn, too. The token of a buffer point is that of a
/// context point and a learned vector of its place in the buffer. Kriging of buffer points and of targets reads the
/// context alone: the transformer corrects it by the buffer, until the buffer becomes context.
class KrigingTnp : public Model, public BufferedModel {
 public:
  KrigingTnp(const KrigingTnpConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  /// The negative log-likelihood, but no target counts for more than 10 nats: tables have values that nothing explains.
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;

  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

  std::int64_t buffer_size() const override { return config_.buffer; }
  std::int64_t components() const override { return config_.components; }
  std::shared_ptr<const ContextState> with_empty_buffer(const ContextState& state) const override;
  std::shared_ptr<const BufferedModel> sharing_weights() const override {
    return std::make_shared<const KrigingTnp>(*this);
  }
  Tensor buffer_tokens(const ContextState& state, const Tensor& x, const Tensor& y, std::int64_t first) const override;
  Tensor target_tokens(const ContextState& state, const Tensor& x) const override;
  std::int64_t row_count() const override { return std::ssize(encoder.layers); }
  std::int64_t row_width() const override { return config_.transformer.key_width(); }
  KeysValues row_of(std::size_t row, const Tensor& states) const override {
    return encoder.layers[row].keys_values(states);
  }
  Marginals predict(const ContextState& state, const BufferStream& stream, const ReadRow& read) const override;
  Marginals given_context_alone(const ContextState& state, const Tensor& xt) const override;
  std::unique_ptr<ContextState> absorbed(const ContextState& state, const Context& points) const override;

  Mlp embedder;
  TwoStreamTransformer encoder;
  Mlp predictor;
  Parameter positions;  // (K, E): of places in the buffer; undefined without one

 private:
  std::unique_ptr<KrigingTnpState> encoded(const Context& context, const Draws& draws, std::int64_t samples) const;
  KrigedPoints kriged_at(const KrigingTnpState& context, const Tensor& x) const;
  Tensor observed_tokens(const Tensor& x, const Tensor& y, const KrigedPoints& kriged) const;
  Tensor unknown_tokens(const Tensor& x, const KrigedPoints& kriged) const;
  Tensor corrected(const KrigedPoints& kriged, const Tensor& raw) const;
  Marginals marginals_of(const Tensor& corrected) const;

  KrigingTnpConfig config_;
  Tensor bank_;
};

}  // namespace npzoo
