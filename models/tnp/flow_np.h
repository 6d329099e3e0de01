#pragma once

#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/blocks/transformer.h"
#include "npzoo/models/model.h"
#include "npzoo/models/predictions/flow.h"

namespace npzoo {

struct FlowNpConfig {
  std::int64_t dim_x = 1, dim_y = 1;
  std::int64_t code = 20;  // sines and cosines of each coordinate
  TransformerConfig transformer{};
  std::int64_t emb_depth = 4;
  FlowOptions flow{};
  bool noisy = false;  // samples as the authors' code draws them
};

/// FlowNP, the flow matching neural process (Abu Hamad and Rosenbaum, "Flow matching neural processes", NeurIPS 2025):
/// a transformer over the tokens of context and targets, [codes of inputs and of a time; values], predicts the velocity
/// of the targets' values. Context points have the time 1. Trained to predict y − y₀ at t y + (1 − t) y₀ for normal y₀
/// and a time of each target.
///
/// `noisy` draws as the authors' code does: copies of the context's points are drawn with the targets, with a factor
/// 1 + t (1 − t) on the velocity and noise of 0.2 √(t (1 − t)) in each step. Otherwise Euler's rule of the paper.
class FlowNp final : public Model {
 public:
  FlowNp(const FlowNpConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;
  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

  /// Targets on their way: inputs (B, Nt, Dx), values (B, Nt, Dy), times (B, Nt, 1), and how many of them are real, as
  /// lengths of a context.
  struct Points {
    Tensor x, y, time;
    Tensor lengths{};
  };
  /// The velocity of the targets, (B, Nt, Dy). `draws` recompute lengths in captured steps.
  Tensor velocity(const Context& context, const Points& targets, Draws& draws) const;

  Mlp embedder;
  std::vector<TransformerLayer> layers;
  Mlp predictor;

 private:
  class Targets;

  FlowNpConfig config_;
};

}  // namespace npzoo
