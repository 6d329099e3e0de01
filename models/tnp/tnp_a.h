#pragma once

#include "npzoo/models/tnp/token_transformer.h"

namespace npzoo {

struct TnpAConfig : TokenTransformerConfig {
  /// Draws paths through the targets in an order of its own for each path and task, as the authors' predictions do.
  /// Training and the joint density take the order that is given.
  bool permute = false;
  /// Deviation of what is added in training to the values that later targets are given.
  double value_noise = 0;
  /// Share of the networks' hidden values that are dropped in training.
  double dropout = 0;
  /// In how many drawn orders of the targets a task is trained on at a time; 0: in the given one.
  std::int64_t permutation_repeats = 0;
};

struct TnpAState;

/// TNP-A, the autoregressive transformer neural process (Nguyen and Grover, "Transformer neural processes:
/// uncertainty-aware meta learning via sequence modeling", ICML 2022, section 3.1): TNP-D's network, which predicts
/// targets one after the other, each given the context and the values of the targets before it. A target with its value
/// attends to the context and to targets up to itself, one to be predicted to those before it; context points attend to
/// the context alone, so a context is encoded once.
///
/// The density of all targets takes one pass of the network (teacher-forced). Paths are drawn by extending cached keys
/// and values by one target at a time, so M targets take time O(M²) in attention and O(M) in all else; all paths share
/// the context's keys and values. In one dimension 222,082 parameters, as TNP-D.
class TnpA final : public TokenTransformer {
 public:
  TnpA(const TnpAConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  /// Mean negative log-likelihood of the targets, each given the values of those before it; with score_context of the
  /// context's points as well, all counting alike.
  Tensor loss(const Task& task, Draws& draws) const override;

 private:
  class TargetByTarget;

  std::unique_ptr<TnpAState> state_of(const Context& context, const Draws& draws, std::int64_t samples,
                                      const Dropping& dropping) const;
  Tensor loss_in_order(const Task& task, Draws& draws) const;

  bool permute_;
  double value_noise_, dropout_;
  std::int64_t permutation_repeats_;
};

/// Reads what `read_tnp_config` and `read_bandit_options` do and, if it is given, `permute`.
std::unique_ptr<Model> make_tnp_a(const ModelConfig& config, const InitialWeights& weights);

}  // namespace npzoo
