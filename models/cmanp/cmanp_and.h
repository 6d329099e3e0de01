#pragma once

#include "npzoo/models/blocks/joint_head.h"
#include "npzoo/models/cmanp/cmanp.h"

namespace npzoo {

/// CMANP-AND (CMANP's paper, section 3.4): CMANP's encodings of the targets and TNP-ND's head, a joint Gaussian. In
/// training it is of all targets at once, and the loss the joint negative log-likelihood of a task, not divided by its
/// targets. Predictions go on block by block: each block is one Gaussian, then it is absorbed into the context with its
/// values, true or drawn, by CMANP's update. So their memory does not grow with the context. Keeps CMANP's own
/// predictor, unused, as the authors' code does: 1,460,951 parameters in one dimension.
class CmanpAnd final : public Cmanp {
 public:
  /// Blocks of `block` targets; 0: one of all of them.
  CmanpAnd(const CmanpConfig& config, const JointHeadConfig& head, std::int64_t block, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<ContextState> do_update(const ContextState& state, const Context& more) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;
  std::optional<double> std_floor() const override { return head.std_floor(); }

  /// All targets at once, whatever the block; of CMANP's own state.
  std::unique_ptr<JointGaussian> joint(const ContextState& state, const Tensor& xt, const Tensor& lengths = {}) const {
    return head(encode_targets(state, xt), lengths);
  }

  JointHead head;

 private:
  std::int64_t block_;
};

/// Reads what CMANP does, `read_joint_head` and, if it is given, `AND_block_size`.
std::unique_ptr<Model> make_cmanp_and(const ModelConfig& config, const InitialWeights& weights);

}  // namespace npzoo
