#pragma once

#include "npzoo/models/blocks/joint_head.h"
#include "npzoo/models/tnp/token_transformer.h"

namespace npzoo {

struct TnpNdConfig : TokenTransformerConfig {
  JointHeadConfig head;
  JointLoss joint_loss;
};

/// TNP-ND, the non-diagonal transformer neural process (Nguyen and Grover, "Transformer neural processes:
/// uncertainty-aware meta learning via sequence modeling", ICML 2022, section 3.2): TNP-D's encoder, then one Gaussian
/// for all targets of a task (JointHead). Minimises their joint negative log-likelihood, of a task (tnp) or for each
/// of its targets (dl4bi). With score_context, as in TNP-pytorch's bandits, it is that of each target, and to it comes
/// the squared error of the means at the context's points. 332,821 parameters in one dimension.
class TnpNd final : public TokenModel {
 public:
  TnpNd(const TnpNdConfig& config, Initializer& init);

  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;
  std::optional<double> std_floor() const override { return head.std_floor(); }

  JointHead head;

 private:
  /// Mean over the context's points of the squared error of all channels.
  Tensor error_of_context(const Task& task, const ContextState& state) const;

  JointLoss loss_;
};

/// Reads `architecture`, what TNP-D reads in it, and `read_joint_head`; of dl4bi also `score_padding`, where it is
/// given: densities of padded targets as well, as in that code. Only runs that are held against it want this.
std::unique_ptr<Model> make_tnp_nd(const ModelConfig& config, const InitialWeights& weights);

}  // namespace npzoo
