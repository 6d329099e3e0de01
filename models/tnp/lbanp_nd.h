#pragma once

#include "npzoo/models/blocks/joint_head.h"
#include "npzoo/models/tnp/lbanp.h"

namespace npzoo {

/// LBANP-ND (LBANP's paper, section 3.3): LBANP's encodings of the targets, and TNP-ND's head, one Gaussian for all of
/// them. Minimises the joint negative log-likelihood of a task, not divided by its targets. Keeps LBANP's own
/// predictor, unused, as the authors' code does: 911,831 parameters in one dimension with 128 latents.
class LbanpNd final : public Lbanp {
 public:
  LbanpNd(const LbanpConfig& config, const JointHeadConfig& head, Initializer& init);

  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;
  std::optional<double> std_floor() const override { return head.std_floor(); }

  JointHead head;
};

/// Reads what LBANP does, and `read_joint_head`.
std::unique_ptr<Model> make_lbanp_nd(const ModelConfig& config, const InitialWeights& weights);

}  // namespace npzoo
