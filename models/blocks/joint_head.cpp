#include "npzoo/models/blocks/joint_head.h"

#include "npzoo/models/blocks/equal_layers.h"
#include "npzoo/models/blocks/perceiver.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/lower_triangle/lower_triangle.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

JointHeadConfig read_joint_head(ConfigReader& reader) {
  JointHeadConfig c;
  c.transformer.layers = reader.depth("num_std_layers", "layers of the transformer for covariances");
  c.columns = reader.size("prj_dim", "columns of the factor of the covariance");
  c.depth = reader.depth("prj_depth", "linear layers of the network for that factor");
  c.diagonal_depth = c.depth;
  if (reader.has("diag_depth"))
    c.diagonal_depth =
        reader.depth("diag_depth", "linear layers of the network for the diagonal; prj_depth if missing");
  if (reader.choice("cov_approx", "form of the covariance", {"cholesky", "lowrank"}, "cholesky") == "lowrank")
    c.covariance = CovarianceForm::low_rank;
  return c;
}

JointHeadConfig read_perceiver_joint_head(ConfigReader& reader, const PerceiverModelConfig& config) {
  JointHeadConfig c = read_joint_head(reader);
  c.transformer.width = config.layer.width;
  c.transformer.heads = config.layer.heads;
  c.transformer.hidden = c.hidden = config.layer.hidden;
  c.transformer.equal_layers = true;
  c.dim_y = config.dim_y;
  c.floor = config.std.floor;
  return c;
}

JointHead::JointHead(const JointHeadConfig& config, Initializer& init)
    : mean({config.transformer.width, config.hidden, config.dim_y}, init),
      layers([&] {
        std::vector<TransformerLayer> all;
        for (std::int64_t i = 0; i < config.transformer.layers; ++i) all.emplace_back(config.transformer, init);
        if (config.transformer.equal_layers) make_equal(all);
        return all;
      }()),
      projector(
          Mlp::of_depth(config.transformer.width, config.hidden, config.columns * config.dim_y, config.depth, init)),
      config_(config) {
  if (config.covariance == CovarianceForm::low_rank)
    diagonal.emplace(Mlp::of_depth(config.transformer.width, config.hidden, config.dim_y, config.diagonal_depth, init));
}

std::unique_ptr<JointGaussian> JointHead::operator()(const Tensor& encodings, const Tensor& lengths) const {
  const PrefixMask mask = PrefixMask::lengths(lengths);
  const std::int64_t batch = encodings.dim(0), values = encodings.dim(1) * config_.dim_y;
  Tensor h = encodings;  // (B, Nt, E)
  for (const TransformerLayer& layer : layers) h = layer.over(h, h.dim(1), mask);
  const Tensor rows = reshape(projector(h), {batch, values, config_.columns});  // (B, M, R)
  Tensor means = mean(encodings);                                               // (B, Nt, Dy)
  if (diagonal) {
    Tensor variances = exp(reshape((*diagonal)(encodings), {batch, values}));  // (B, M)
    return std::make_unique<JointGaussian>(std::move(means), rows, std::move(variances));
  }
  Tensor own;  // (B, M), of the factor's diagonal
  if (config_.floor > 0) own = affine(tanh(sum(square(rows), -1)), 1 - config_.floor, config_.floor);
  Tensor factor = lower_triangle(matmul(rows, rows, Transpose::no, Transpose::yes), own);  // (B, M, M)
  return std::make_unique<JointGaussian>(std::move(means), std::move(factor));
}

void JointHead::visit(ModuleVisitor& visitor) {
  visitor("mean", mean);
  visitor("layers", layers);
  visitor("projector", projector);
  if (diagonal) visitor("diagonal", *diagonal);
}

Tensor joint_nll(const JointGaussian& prediction, const Task& task, const JointLoss& form) {
  const Tensor joint = prediction.log_density(task.yt, form.scores_padding ? Tensor() : task.target_lengths);  // (B)
  if (!form.per_target) return affine(npzoo::mean(joint), -1, 0);
  if (!task.target_weights.defined()) return affine(npzoo::mean(joint), -1 / static_cast<double>(task.yt.dim(1)), 0);
  return affine(npzoo::mean(div(joint, sum(task.target_weights, -1))), -1, 0);
}

}  // namespace npzoo
