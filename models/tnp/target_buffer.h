#pragma once

#include <functional>
#include <memory>

#include "npzoo/models/blocks/transformer.h"
#include "npzoo/models/predictions/in_turn.h"

// A causal buffer of targets behind the context of a transformer (Hassan et al., "Efficient autoregressive inference
// for transformer probabilistic models", ICLR 2026). The context is encoded once. Targets whose values are drawn or
// known enter the buffer; later targets see the context and the buffer. A full buffer becomes context.

namespace npzoo {

/// Reads `buffer`, the size of a buffer that a model may have: 0 if the key is missing.
std::int64_t read_buffer(ConfigReader& reader);

/// Counts of the buffer points that others see.
struct BufferMasks {
  PrefixMask all;         // those of buffer points, then those of targets
  PrefixMask by_targets;  // those of targets
};

/// Keys and values of points. A model has one pair or more for each of its layers.
using BufferRows = std::vector<KeysValues>;

/// The part of a state that is the buffer. A model that has one derives its state from this and from ContextState.
struct BufferedState {
  virtual ~BufferedState() = default;
  /// Returns the same state with another buffer.
  virtual std::unique_ptr<ContextState> with_buffer(Context points, BufferRows rows) const = 0;
  /// Returns the number of context points, padding included.
  virtual std::int64_t context_points() const = 0;

  Context buffered{};        // (B, n, Dx), (B, n, Dy)
  BufferRows buffer_rows{};  // (B, n, ·)

  std::int64_t count() const { return buffered.xc.defined() ? buffered.xc.dim(1) : 0; }
};

/// Returns the buffer of a state. Throws Error if it has none.
const BufferedState& buffer_of(const ContextState& state);

/// Buffer points and targets on P paths of each task; the targets are the last ones.
struct BufferStream {
  Tensor tokens;           // (B·P, n, E)
  Tensor xt;               // (B·P, Nt, Dx): places of the targets
  std::int64_t first = 0;  // place in the buffer of the first point of the stream
  BufferMasks masks;

  std::int64_t points() const { return tokens.dim(1) - xt.dim(1); }
};

/// A model with such a buffer.
class BufferedModel : public PredictsInTurn {
 public:
  /// Returns the most targets in the buffer; 0: the model has none.
  virtual std::int64_t buffer_size() const = 0;
  /// Returns the number of Gaussians in the prediction of a target.
  virtual std::int64_t components() const = 0;
  virtual std::int64_t dim_y() const = 0;
  /// Returns the state of a context with an empty buffer. Throws Error for the state of another kind of model.
  virtual std::shared_ptr<const ContextState> with_empty_buffer(const ContextState& state) const = 0;
  /// Returns a copy that shares the weights which the model has now.
  virtual std::shared_ptr<const BufferedModel> sharing_weights() const = 0;

  /// Returns tokens (B·P, n, E) of points that take the places from `first` on in the buffer.
  virtual Tensor buffer_tokens(const ContextState& state, const Tensor& x, const Tensor& y,
                               std::int64_t first) const = 0;
  virtual Tensor target_tokens(const ContextState& state, const Tensor& x) const = 0;
  /// Returns the number of pairs of keys and values of a point, and their channels.
  virtual std::int64_t row_count() const = 0;
  virtual std::int64_t row_width() const = 0;
  /// Returns pair `row` of buffer points by the states (B·P, n, E) that it is computed from.
  virtual KeysValues row_of(std::size_t row, const Tensor& states) const = 0;
  /// Returns pair `row` of the buffer that the stream reads, by the states of the stream's points.
  using ReadRow = std::function<KeysValues(std::size_t row, const Tensor& states)>;
  /// Returns the predictions of the stream's targets: (M, B·P, Nt, Dy).
  virtual Marginals predict(const ContextState& state, const BufferStream& stream, const ReadRow& read) const = 0;
  /// Returns the predictions (M, B, Nt, Dy) given the context alone.
  virtual Marginals given_context_alone(const ContextState& state, const Tensor& xt) const = 0;
  /// Returns the state of P paths of each task, whose buffer's points (B·P, n, ·) have become context.
  virtual std::unique_ptr<ContextState> absorbed(const ContextState& state, const Context& points) const = 0;

  std::unique_ptr<Prediction> in_turn(const ContextState& state, const Tensor& xt, const Draws& draws,
                                      std::int64_t samples) const override;
  /// Predicts each target (B, Nt, Dx) given the context and all of the buffer: (M, B, Nt, Dy).
  Marginals given_context(const ContextState& state, const Tensor& xt) const;
  /// Predicts targets given the context and buffer points (B, n, ·), in one pass. The state's buffer must be empty.
  Marginals given_buffer(const ContextState& state, const Context& buffer, const Tensor& xt,
                         const BufferMasks& masks) const;
};

/// Returns the states of the stream's targets (B·P, Nt, E) that leave an encoder of one stack, in which buffer points,
/// targets and the context's keys and values have the same weights. Row i of the buffer belongs to layer i.
Tensor through_buffer(const TwoStreamTransformer& encoder, const TwoStreamTransformer::Encoded& context,
                      const PrefixMask& real, const BufferStream& stream, const BufferedModel::ReadRow& read);

/// Draws the masks of training for `count` targets, the first of which are in the buffer as well: half of the targets
/// see none of the buffer, the others a uniform number of the points before them, at least one.
BufferMasks drawn_buffer_masks(std::int64_t batch, std::int64_t count, std::int64_t buffer, Draws& draws);

/// A task with its targets in a drawn order and zeros in their padding, and how they are predicted for a loss.
struct TargetsForLoss {
  Task task;
  std::unique_ptr<Prediction> prediction;
};
/// Draws the order of the targets and `drawn_buffer_masks`, puts the first targets into the buffer and predicts all of
/// them in one pass. `encode` returns the state of the task's context.
TargetsForLoss predict_for_loss(const BufferedModel& model, const Task& task, Draws& draws,
                                const std::function<std::unique_ptr<ContextState>()>& encode);

/// Returns the prediction of each target by itself: a Mixture, or Independent without weights.
std::unique_ptr<Prediction> as_prediction(Marginals marginals);

/// N(0, 1 / width), as learned positions and roles start: (rows, width).
Tensor learned_token_rows(std::int64_t rows, std::int64_t width, Initializer& init);

/// x (B, …) once for each of P paths: (B·P, …), row b·P + p. Points (B, n, D), or lengths (B) if they are defined.
Tensor points_of_paths(const Tensor& x, std::int64_t paths);
Tensor lengths_of_paths(const Tensor& lengths, std::int64_t paths);
/// The context for each of the paths that have `points` (B·P, n, ·).
Context context_of_paths(const Context& context, const Context& points);

}  // namespace npzoo
