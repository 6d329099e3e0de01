#pragma once

#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/blocks/transformer.h"
#include "npzoo/models/likelihoods/output_head.h"
#include "npzoo/models/model.h"

namespace npzoo {

struct TokenTransformerConfig {
  std::int64_t dim_x = 1, dim_y = 1;
  std::vector<std::int64_t> embedder;  // widths after the token's own, the last being the transformer's
  TransformerConfig transformer;
  std::int64_t head_hidden = 128;
  StdForm std;
  Likelihood likelihood{};
  bool loss_per_channel = false;
  double drop_y = 0;           // see drop_values
  bool score_context = false;  // the loss is of the context's points as well
};

struct TokenTransformerState : HeldContext {
  TokenTransformerState(HeldContext held, TwoStreamTransformer::Encoded layers)
      : HeldContext(std::move(held)), encoded(std::move(layers)) {}

  TwoStreamTransformer::Encoded encoded;  // empty where targets are encoded together with the context
};

/// A neural process made of tokens [x; y] (targets [x; 0]), one embedder and a TwoStreamTransformer; heirs have the
/// head. Points are worked through in chunks when nothing is recorded, and when there are so many that the backward
/// pass computes them again.
class TokenModel : public Model {
 public:
  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  void begin_step(std::int64_t step) override { encoder.begin_step(step); }
  void visit(ModuleVisitor& visitor) override;

  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

  Mlp embedder;
  TwoStreamTransformer encoder;

 protected:
  TokenModel(const TokenTransformerConfig& config, Initializer& init);

  const TokenTransformerConfig& config() const { return config_; }
  /// The state that `condition` makes.
  std::unique_ptr<TokenTransformerState> encoded(const Context& context, const Draws& draws, std::int64_t samples,
                                                 const Dropping& dropping = {}) const;
  /// Encodes targets xt (B, Nt, Dx): (B, Nt, E).
  Tensor encode_targets(const ContextState& state, const Tensor& xt) const;
  /// Encodes targets and applies `head`, chunk by chunk.
  Tensor encode_targets(const ContextState& state, const Tensor& xt, const Mlp& head) const;
  /// Encodes the context's own points with their values: (B, Nc, E).
  Tensor encode_context(const ContextState& state) const;

 private:
  /// points (B, N, Dx + Dy) → (B, N, E)
  Tensor tokens_of(const Tensor& points) const;
  TwoStreamTransformer::Encoded layers_of(const Context& context, const Dropping& dropping = {}) const;
  /// True if a recording takes context and targets (B, Nt, Dx) through the encoder together.
  bool together(const Context& context, const Tensor& xt) const;
  /// Encodes targets xt (B, Nt, Dx) together with the context: (B, Nt, E).
  Tensor encode_together(const Context& context, const Tensor& xt) const;
  template <class F>
  Tensor chunks(const ContextState& state, const Tensor& xt, const F& f) const;

  TokenTransformerConfig config_;
};

/// With a Gaussian for each target by itself. TNP-D and TNP-KR (Full and Fast) are settings of it, TNP-A is an heir.
class TokenTransformer : public TokenModel {
 public:
  TokenTransformer(const TokenTransformerConfig& config, Initializer& init);

  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;
  std::optional<double> std_floor() const override { return floor_of(config().likelihood, config().std.least()); }
  Likelihood likelihood() const override { return config().likelihood; }

  Mlp predictor;

 private:
  Tensor loss_of_all_points(const Task& task, Draws& draws) const;
};

}  // namespace npzoo
