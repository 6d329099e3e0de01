#pragma once

#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/blocks/transformer.h"
#include "npzoo/models/model.h"
#include "npzoo/models/tnp/target_buffer.h"

namespace npzoo {

struct TnpBufferConfig {
  std::int64_t dim_x = 1, dim_y = 1;
  std::int64_t buffer = 16;      // the most targets in the buffer
  std::int64_t components = 20;  // Gaussians in a prediction; 1: a Gaussian head
  std::int64_t embedder_depth = 3, embedder_width = 256;
  std::int64_t head_hidden = 256;
  TransformerConfig transformer{.width = 128, .hidden = 256};
  StdForm std{StdForm::Kind::softplus};
};

/// A context, and the targets in the buffer behind it.
struct TnpBufferState final : HeldContext, BufferedState {
  using HeldContext::HeldContext;

  std::unique_ptr<ContextState> with_buffer(Context points, BufferRows rows) const override;
  std::int64_t context_points() const override { return context.xc.dim(1); }

  TwoStreamTransformer::Encoded encoded;  // of each layer: keys and values of the context
};

/// TNP-D with a causal autoregressive buffer (Hassan et al., "Efficient autoregressive inference for transformer
/// probabilistic models", ICLR 2026): one transformer over [context; buffer; targets]. Context points attend to the
/// context, a buffer point to the context and the buffer points before it, a target to the context and the first v
/// points of the buffer. So the context is encoded once, and all sample paths share its keys and values. With an empty
/// buffer the model is TNP-D.
///
/// Tokens are E_x(x) + E_y(y) + role, of targets E_x(x) + role, of buffer point j also + a(j). Each target is a mixture
/// of Gaussians; the channels of a target come from the same component. In training the buffer holds the first targets
/// in a drawn order. Half of the targets have v = 0, the others a uniform v from 1 to the number of targets before
/// them, at most K.
class TnpBuffer final : public Model, public BufferedModel {
 public:
  TnpBuffer(const TnpBufferConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  Tensor loss(const Task& task, Draws& draws) const override;
  void begin_step(std::int64_t step) override { encoder.begin_step(step); }
  void visit(ModuleVisitor& visitor) override;

  std::optional<double> std_floor() const override { return config_.std.least(); }
  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }
  const TnpBufferConfig& config() const { return config_; }

  /// Encodes a context; the buffer is empty.
  std::unique_ptr<TnpBufferState> encoded(const Context& context, const Draws& draws, std::int64_t samples) const;

  std::int64_t buffer_size() const override { return config_.buffer; }
  std::int64_t components() const override { return config_.components; }
  std::shared_ptr<const ContextState> with_empty_buffer(const ContextState& state) const override;
  std::shared_ptr<const BufferedModel> sharing_weights() const override {
    return std::make_shared<const TnpBuffer>(*this);
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

  Mlp embedder_x, embedder_y;
  Parameter roles;      // (3, E): context, buffer, targets
  Parameter positions;  // (K, E): of places in the buffer
  TwoStreamTransformer encoder;
  Mlp predictor;

 private:
  enum class Role : std::uint8_t { context, buffer, target };

  Tensor role(Role which) const;
  Marginals components_of(const Tensor& raw) const;

  TnpBufferConfig config_;
};

}  // namespace npzoo
