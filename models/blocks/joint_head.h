#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/model_config.h"
#include "npzoo/datasets/task.h"
#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/blocks/transformer.h"
#include "npzoo/models/predictions/joint_gaussian.h"

namespace npzoo {

struct PerceiverModelConfig;

enum class CovarianceForm : std::uint8_t {
  cholesky,  // Σ = L Lᵀ with L the lower triangle of H Hᵀ
  low_rank   // Σ = H Hᵀ + diag(exp(d))
};

struct JointHeadConfig {
  std::int64_t dim_y = 1;
  TransformerConfig transformer;  // of the layers in which targets attend to one another
  std::int64_t hidden = 128;      // of the networks
  CovarianceForm covariance = CovarianceForm::cholesky;
  std::int64_t columns = 20;  // of H
  std::int64_t depth = 4, diagonal_depth = 4;
  /// Above 0 the diagonal of L is floor + (1 − floor) tanh |h|², else |h|².
  double floor = 0;
};

/// Reads num_std_layers, prj_dim, prj_depth and, if they are given, cov_approx ("cholesky", which is the default, or
/// "lowrank") and diag_depth: what the authors of TNP-ND, LBANP-ND and CMANP-AND call the parameters of this head. The
/// caller gives the rest.
JointHeadConfig read_joint_head(ConfigReader& reader);
/// The same, complete, of LBANP-ND and CMANP-AND.
JointHeadConfig read_perceiver_joint_head(ConfigReader& reader, const PerceiverModelConfig& config);

/// How TNP-ND (Nguyen and Grover, "Transformer neural processes", ICML 2022, section 3.2), and after it LBANP-ND and
/// CMANP-AND, make one Gaussian of the encodings of all targets of a task: means by a network for each target; for the
/// covariance targets attend to one another and are projected to rows h of H, Dy of them for each target.
///
/// As in the authors' code L is taken for the factor as it is, so its diagonal is |h|² and variances are fourth powers.
class JointHead {
 public:
  JointHead(const JointHeadConfig& config, Initializer& init);

  /// encodings (B, Nt, E). Targets attend to the first `lengths` (B) of them; undefined: to all.
  std::unique_ptr<JointGaussian> operator()(const Tensor& encodings, const Tensor& lengths = {}) const;

  /// The least standard deviation.
  double std_floor() const { return config_.covariance == CovarianceForm::cholesky ? config_.floor : 0; }

  void visit(ModuleVisitor& visitor);

  Mlp mean;
  std::vector<TransformerLayer> layers;
  Mlp projector;
  std::optional<Mlp> diagonal;  // of low rank

 private:
  JointHeadConfig config_;
};

/// How the code of a model's authors makes a loss of joint densities.
struct JointLoss {
  bool per_target = false;      // that of each task divided by the sum of its target_weights
  bool scores_padding = false;  // the density is of padding as well, though not that sum
};

/// −log p of all targets of a task together, of the first target_lengths of them, in the mean over tasks.
Tensor joint_nll(const JointGaussian& prediction, const Task& task, const JointLoss& form = {});

}  // namespace npzoo
