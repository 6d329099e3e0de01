#pragma once

#include <optional>

#include "models/blocks/mlp.h"
#include "models/model.h"
#include "ops/reduce/reduce.h"

namespace npzoo {

/// Encodes a set as the mean of its points' encodings.
class PoolingEncoder {
 public:
  /// `post_depth` 0: the mean itself is the encoding.
  PoolingEncoder(std::int64_t in, std::int64_t hidden, std::int64_t pre_depth, std::int64_t post_depth,
                 Initializer& init);

  /// Points [x; y] (B, N, Dx + Dy) and how many of them are real, (B) int64 or undefined for all → (B, hidden)
  Tensor pool(const Tensor& points, const Tensor& lengths) const { return masked_mean(pre(points), lengths); }
  /// The encoding from the mean over all points.
  Tensor finish(const Tensor& mean) const { return post ? (*post)(mean) : mean; }

  void visit(ModuleVisitor& visitor);

  Mlp pre;
  std::optional<Mlp> post;
};

/// A context of any length: the points themselves are gone.
struct PooledContext final : ContextState {
  std::vector<Tensor> means;   // of each encoder, (B, hidden)
  std::vector<double> counts;  // points of each batch element
  Tensor encoded;              // (B, encoders · hidden)
};

struct CnpConfig {
  std::int64_t dim_x = 1, dim_y = 1;
  std::int64_t hidden = 128;
  std::int64_t encoders = 2;  // independent ones, their outputs side by side
  std::int64_t pre_depth = 4, post_depth = 2, decoder_depth = 3;
  StdForm std{StdForm::Kind::softplus, 0.1};
  bool context_in_loss = true;  // context points are scored in training as well
};

/// Conditional neural process (Garnelo et al., "Conditional neural processes", ICML 2018). The defaults are those of
/// the BNP and TNP authors' code: two encoders, so that its size is near that of a neural process. A mean can go on, so
/// `update` takes time and memory for the new points alone.
class Cnp final : public Model {
 public:
  Cnp(const CnpConfig& config, Initializer& init);

  std::unique_ptr<ContextState> condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> query(const ContextState& state, const Tensor& xt) const override;
  std::unique_ptr<ContextState> update(const ContextState& state, const Context& more) const override;
  bool streams() const override { return true; }
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;

  std::optional<double> std_floor() const override { return config_.std.floor; }
  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

  std::vector<PoolingEncoder> encoders;
  Mlp decoder;

 private:
  /// The state after more points; without means it is the one before any.
  std::unique_ptr<PooledContext> absorb(PooledContext state, const Context& more) const;

  CnpConfig config_;
};

/// Reads `architecture` "tnp" (TNP-pytorch) or "dl4bi" and that code's own constructor parameters.
std::unique_ptr<Model> make_cnp(const ModelConfig& config, const InitialWeights& weights);

}  // namespace npzoo
