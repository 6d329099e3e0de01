#pragma once

#include "models/blocks/mlp.h"
#include "models/blocks/transformer.h"
#include "models/model.h"

namespace npzoo {

struct TokenTransformerConfig {
  std::int64_t dim_x = 1, dim_y = 1;
  std::vector<std::int64_t> embedder;  // widths after the token's own, the last being the transformer's
  TransformerConfig transformer;
  std::int64_t head_hidden = 128;
  StdForm std;
  bool loss_per_channel = false;
};

struct TokenTransformerState : HeldContext {
  TokenTransformerState(HeldContext held, TwoStreamTransformer::Encoded layers)
      : HeldContext(std::move(held)), encoded(std::move(layers)) {}

  TwoStreamTransformer::Encoded encoded;
};

/// A neural process made of tokens [x; y] (targets [x; 0]), one embedder, a TwoStreamTransformer and a head. TNP-D and
/// TNP-KR (Full and Fast) are settings of it, TNP-A is an heir. Points are worked through in chunks when nothing is
/// recorded.
class TokenTransformer : public Model {
 public:
  TokenTransformer(const TokenTransformerConfig& config, Initializer& init);

  std::unique_ptr<ContextState> condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> query(const ContextState& state, const Tensor& xt) const override;
  Tensor loss(const Task& task, Draws& draws) const override;
  void begin_step(std::int64_t step) override { encoder.begin_step(step); }
  void visit(ModuleVisitor& visitor) override;

  std::optional<double> std_floor() const override { return config_.std.floor; }
  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

  Mlp embedder;
  TwoStreamTransformer encoder;
  Mlp predictor;

 protected:
  const TokenTransformerConfig& config() const { return config_; }

 private:
  TokenTransformerConfig config_;
};

}  // namespace npzoo
