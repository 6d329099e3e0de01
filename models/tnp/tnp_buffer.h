#pragma once

#include <functional>

#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/blocks/transformer.h"
#include "npzoo/models/model.h"

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
struct TnpBufferState final : HeldContext {
  using HeldContext::HeldContext;

  TwoStreamTransformer::Encoded encoded;  // of each layer: keys and values of the context
  Context buffered{};                     // (B, n, Dx), (B, n, Dy)
  TwoStreamTransformer::Encoded buffer;   // the same of the buffer, (B, n, E)

  std::int64_t count() const { return buffered.xc.dim(1); }
};

/// Counts of the buffer points that others see.
struct BufferMasks {
  PrefixMask all;         // those of buffer points, then those of targets
  PrefixMask by_targets;  // those of targets
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
class TnpBuffer final : public Model {
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
  /// Predicts each target (B, Nt, Dx) given the context and all of the buffer: (M, B, Nt, Dy).
  Marginals given_context(const TnpBufferState& state, const Tensor& xt) const;
  /// Predicts targets given the context and buffer points (B, n, ·), in one pass. The state's buffer must be empty.
  Marginals given_buffer(const TnpBufferState& state, const Context& buffer, const Tensor& xt,
                         const BufferMasks& masks) const;
  /// Draws the masks of training for `count` targets, the first of which are in the buffer as well.
  static BufferMasks drawn_masks(std::int64_t batch, std::int64_t count, std::int64_t buffer, Draws& draws);

  /// Buffer points and targets on P paths of each task; the targets are the last ones.
  struct Stream {
    Tensor tokens;         // (B·P, n, E)
    std::int64_t targets;  // how many of them are targets
    BufferMasks masks;
  };
  /// Returns the keys and values of a path's buffer in a layer, by the states of the stream that enter it.
  using BufferKeys = std::function<KeysValues(std::size_t layer, const Tensor& states)>;
  /// Returns the predictions of the targets: (M, B·P, targets, Dy).
  Marginals predict(const TnpBufferState& state, const Stream& stream, const BufferKeys& keys) const;
  /// Tokens (B, n, E) of points that take the places from `first` on in the buffer.
  Tensor buffer_tokens(const Tensor& x, const Tensor& y, std::int64_t first) const;
  Tensor target_tokens(const Tensor& x) const;

  Mlp embedder_x, embedder_y;
  Parameter roles;      // (3, E): context, buffer, targets
  Parameter positions;  // (K, E): of places in the buffer
  TwoStreamTransformer encoder;
  Mlp predictor;

 private:
  enum class Role : std::uint8_t { context, buffer, target };

  Tensor role(Role which) const;
  Marginals components(const Tensor& raw) const;

  TnpBufferConfig config_;
};

/// The prediction of each target by itself.
std::unique_ptr<Prediction> as_prediction(Marginals marginals);

}  // namespace npzoo
