#pragma once

#include "npzoo/models/conditional/lineages.h"

namespace npzoo {

struct LatentNpConfig {
  const char* model = "np";  // opens messages
  Lineage lineage = Lineage::tnp;
  std::int64_t dim_x = 1, dim_y = 1;
  std::int64_t latent = 128;
  /// Functions that training draws of each task (tnp, anp). With one the objective is the evidence lower bound with the
  /// divergence in closed form, with more the importance-weighted one (Burda et al., ICLR 2016).
  std::int64_t train_samples = 4;
  /// Functions of which dl4bi averages means and standard deviations, in training and in predictions.
  std::int64_t averaged = 1;
  bool inputs_first = false;       // in what the decoder reads, as dl4bi's attentive one has it
  bool uniform_attention = false;  // what the mean that targets read stands for
  StdForm std{StdForm::Kind::softplus, 0.1};
};

/// Latent variables of a context, with the random numbers that they come from: these stay when points are added.
struct LatentContext final : HeldContext {
  explicit LatentContext(HeldContext held) : HeldContext(std::move(held)) {}

  PooledPoints points{};  // of a model that streams; the context itself is then not held
  ContextEncoder::Encoded encoded{};
  Moments prior{};  // (B, L)
  Tensor noise{};   // (K, B, L), standard normal
  Tensor z{};       // (K, B, L)
};

/// Neural process (Garnelo et al., "Neural processes", 2018) and attentive neural process (Kim et al., ICLR 2019): a
/// function is drawn by its latent variables z, whose distribution given a context comes from a mean over its points;
/// besides, targets read the context directly. A context is encoded once for all functions, and where both paths pool,
/// further points take time and memory for themselves alone.
///
/// Training lets z come from context and targets together, and scores them all:
///
///     −log (1/K) Σₖ p(y | zₖ) p(zₖ | context) / q(zₖ | all),  zₖ ~ q,
///
/// divided by the number of points (tnp, anp). dl4bi decodes z of the context and adds KL(q(z | targets) ‖ p(z |
/// context)) divided by the number of targets. Its predictions are one Gaussian at each target.
class LatentNp final : public Model {
 public:
  LatentNp(const LatentNpConfig& config, ContextEncoder deterministic, PoolingEncoder latent, Mlp decoder);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  std::unique_ptr<ContextState> do_update(const ContextState& state, const Context& more) const override;
  bool streams() const override { return deterministic.streams() && latent.streams(); }
  Tensor loss(const Task& task, Draws& draws) const override;
  /// "kl_divergence": KL(q(z | all) ‖ p(z | context)), of dl4bi KL(q(z | targets) ‖ p(z | context)).
  std::vector<LossTerm> loss_terms(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;

  std::optional<double> std_floor() const override { return config_.std.floor; }
  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

  ContextEncoder deterministic;
  PoolingEncoder latent;  // to means and raw deviations of z, (B, 2 L)
  Mlp decoder;

 private:
  void absorb_points(LatentContext& state, const Context& more) const;
  /// With uniform attention: a mean of so many points (B), each of them weighing as much.
  void tell_of_mean(ContextEncoder::Encoded& encoded, std::span<const double> counts) const;
  /// z is (K, B, L), xt (B, Nt, Dx) → (K, B, Nt, Dy)
  Moments decode(const ContextEncoder::Encoded& context, const Tensor& z, const Tensor& xt) const;
  /// Distributions of z, (B, L), before and after the targets are seen.
  struct Latents {
    Moments prior, posterior;
  };
  Latents latents_of_all_points(const Task& task, const Context& context, Draws& draws) const;
  Moments posterior_of_targets(const Task& task) const;
  Tensor loss_of_all_points(const Task& task, Draws& draws) const;
  Tensor loss_of_targets(const Task& task, Draws& draws) const;

  LatentNpConfig config_;
};

/// The network from a mean to 2 L raw numbers of the distribution of z, in DeepMind's code.
Mlp anp_latent_head(std::int64_t hidden, std::int64_t latent, Initializer& init);

/// Input channels of the decoder: what is read of the context, z and x.
Mlp latent_decoder(const LatentNpConfig& config, std::int64_t hidden, std::int64_t depth, Initializer& init);

/// Reads dim_x, dim_y, dim_lat and, as the lineage has them, train_samples, n_z and min_std.
LatentNpConfig read_latent_config(ConfigReader& reader, const char* model);

}  // namespace npzoo
