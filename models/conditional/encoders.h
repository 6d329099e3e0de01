#pragma once

#include <optional>
#include <span>
#include <vector>

#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/blocks/point_attention.h"
#include "npzoo/models/model.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/reduce/reduce.h"

// Encoders of context points from which conditional, latent and bootstrapping neural processes are made.

namespace npzoo {

/// Encodes a set as the mean of its points' encodings, which may have attended to one another before.
class PoolingEncoder {
 public:
  /// `post_depth` 0: the mean itself is the encoding.
  PoolingEncoder(std::int64_t in, std::int64_t hidden, std::int64_t pre_depth, std::int64_t post_depth,
                 Initializer& init);
  PoolingEncoder(Mlp before, std::vector<PointAttention> attention, std::optional<Mlp> after);

  /// Each point by itself: [x; y] (B, N, Dx + Dy) → (B, N, hidden).
  Tensor embed(const Tensor& points) const;
  /// Those of a set together, and how many are real, (B) int64 or undefined for all → (B, hidden).
  Tensor pool(const Tensor& embedded, const Tensor& lengths) const;
  /// The encoding from the mean over all points.
  Tensor finish(const Tensor& mean) const { return post ? (*post)(mean) : mean; }

  /// True if the mean can be updated when more points come.
  bool streams() const { return self_attention.empty(); }
  void visit(ModuleVisitor& visitor);

  Mlp pre;
  bool relu_between = false;  // before self-attention
  std::vector<PointAttention> self_attention;
  std::optional<Mlp> post;
};

/// The state of a context of any length in encoders that stream: the points themselves are gone.
struct PooledPoints {
  std::vector<Tensor> means;   // of each encoder, (B, hidden)
  std::vector<double> counts;  // points of each batch element
};

/// Adds points to those that the encoders have pooled; to none, if there are no means yet. `model` opens the
/// message about a batch of another size.
void absorb(PooledPoints& pooled, std::span<const PoolingEncoder* const> encoders, const Context& more,
            const char* model);

/// Encodes a context for each target apart: target inputs attend to the context's points (cross-attention), which may
/// have attended to one another before.
class AttendingEncoder {
 public:
  /// `embedder` is of inputs, for queries and keys; without one they are the inputs themselves.
  AttendingEncoder(std::optional<Mlp> embedder, Mlp values, std::vector<PointAttention> self_attention,
                   PointAttention cross_attention);

  /// Each point by itself: x (B, N, Dx), for queries and keys, → (B, N, E).
  Tensor inputs(const Tensor& x) const;
  /// Each point by itself: [x; y] (B, N, Dx + Dy) → (B, N, E).
  Tensor embed(const Tensor& points) const;
  /// Those of a context together, or of K samples, (K · B, N, E), of which inputs may be common to all.
  KeysValues encode(const Tensor& inputs, const Tensor& embedded, const PrefixMask& mask) const;
  /// x (B, n, Dx) → (B, n, E), or (K · B, n, E)
  Tensor query(const Tensor& x, const KeysValues& context, const PrefixMask& mask) const {
    return cross_attention(inputs(x), context, mask);
  }
  void visit(ModuleVisitor& visitor);

  std::optional<Mlp> embedder;
  Mlp values;
  std::vector<PointAttention> self_attention;
  PointAttention cross_attention;
};

/// The deterministic path from a context to its targets: a mean, attention, or both.
class ContextEncoder {
 public:
  struct Encoded {
    KeysValues attended{};  // what targets attend to
    PrefixMask mask{};
    Tensor pooled{};  // (B, hidden)
  };

  ContextEncoder(std::optional<AttendingEncoder> attending, std::optional<PoolingEncoder> pooling)
      : attending(std::move(attending)), pooling(std::move(pooling)) {}

  /// Each point by itself: (B, N, E) and (B, N, hidden), as far as there are both.
  struct Points {
    Tensor attended{}, pooled{};
  };
  Points points(const Tensor& xy) const;
  /// Undefined where no targets attend to anything.
  Tensor inputs(const Tensor& x) const { return attending ? attending->inputs(x) : Tensor(); }
  /// Those of a context together, or of K samples, (K · B, N, ·), of which inputs may be common to all.
  Encoded encode(const Tensor& inputs, const Points& points, const Tensor& lengths, std::int64_t samples = 1) const;
  /// A context whose padding is cleared.
  Encoded encode(const Context& context) const {
    return encode(inputs(context.xc), points(concat({context.xc, context.yc}, -1)), context.lengths);
  }
  /// Reads an encoded context at targets x (B, n, Dx): (B, n, E) and then (B, 1, hidden), as far as there are both; K ·
  /// B rows for K samples.
  std::vector<Tensor> read(const Encoded& encoded, const Tensor& x) const;

  bool streams() const { return !attending && pooling->streams(); }
  void visit(ModuleVisitor& visitor);

  std::optional<AttendingEncoder> attending;
  std::optional<PoolingEncoder> pooling;
};

/// Applies a layer to `parts` side by side, each broadcast to a common shape in all but the last axis. The layer takes
/// each part once, not once for every repetition. Parts with fewer axes are added first, which is less work.
Tensor of_parts(const Linear& layer, std::span<const Tensor> parts);
/// The other layers of a network from what the first one gives; `activation`, relu or none, is between them.
Tensor after_first(const Mlp& mlp, const Tensor& first, Activation activation = Activation::relu);
/// Both.
inline Tensor of_parts(const Mlp& mlp, std::span<const Tensor> parts) {
  return after_first(mlp, of_parts(mlp.layers.front(), parts));
}

/// Points that a loss scores if it counts the context as well: context, then targets. Padding does not count.
struct ScoredPoints {
  Tensor x, y;     // (B, Nc + Nt, Dx), (B, Nc + Nt, Dy)
  Tensor weights;  // (B, Nc + Nt), or undefined for all alike
};

ScoredPoints context_and_targets(const Task& task);
/// (B, Nc), how much points of the context count in it; undefined for all alike.
Tensor context_weights(const Task& task);

}  // namespace npzoo
