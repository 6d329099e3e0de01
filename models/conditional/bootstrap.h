#pragma once

#include "npzoo/models/conditional/lineages.h"

namespace npzoo {

/// Points that are drawn with replacement, each task's from its real ones: K sets as large as the context, and twice,
/// for the points themselves and for residuals.
class Resampling {
 public:
  Resampling(const Context& context, Draws& draws, std::int64_t samples);

  /// The part of samples [begin, end), k of them.
  struct Part {
    std::int64_t samples = 0;  // k
    Tensor points{};           // (1, k · B · N): which of all B · N points
    Tensor residuals{};        // (k · B, N): which of a set's N
    Tensor lengths{};          // (k · B): how many are real; undefined: all
  };
  Part part(std::int64_t begin, std::int64_t end, Draws& draws) const;
  /// Those of `count` samples.
  Tensor lengths(std::int64_t count, Draws& draws) const;

 private:
  Tensor lengths_, points_, residuals_;
};

/// x (B, N, D) and the points of a part → (k · B, N, D); undefined where x is.
Tensor resample_points(const Tensor& x, const Resampling::Part& part);
/// x (k · B, N, D) and the residuals of a part → (k · B, N, D), each set with a mean of 0.
Tensor resample_residuals(const Tensor& x, const Resampling::Part& part);

struct BootstrapConfig {
  Lineage lineage = Lineage::tnp;
  std::int64_t dim_x = 1, dim_y = 1;
  std::int64_t hidden = 128;
  std::int64_t encoded = 256;      // width of what targets read
  std::int64_t decoder_depth = 3;  // linear layers
  std::int64_t train_samples = 4;  // of dl4bi also in predictions, whatever number is requested
  StdForm std{StdForm::Kind::softplus, 0.1};
};

/// Bootstrapping neural process (Lee et al., "Bootstrapping neural processes", NeurIPS 2020) over the deterministic
/// path of any conditional neural process.
///
/// Each of K samples draws points of the context with replacement, predicts the whole context from them, and gives it
/// new values: the predicted means plus residuals, in predicted standard deviations, drawn with replacement in their
/// turn. What targets read in a context of these values is added, through a layer of its own, to what the decoder's
/// first layer makes of the context itself: K functions. Without that it is the base prediction; it is also that of an
/// empty context, of which nothing can be drawn.
///
/// Differences between TNP-pytorch and dl4bi: - the layer has no bias, and ReLU follows the sum; in dl4bi it has one,
/// and no ReLU follows; - dl4bi leaves the keys of attention in their places when it draws points, so that values of
/// others belong to them; - new values are constants in training; in dl4bi gradients pass through them; - the loss is
/// the sum of the negative log-likelihoods of base and mixture, over context and targets; in dl4bi their
///   mean, over targets and channels, each channel a mixture by itself.
class BootstrappingProcess final : public Model {
 public:
  /// Targets read all encoders side by side.
  BootstrappingProcess(const BootstrapConfig& config, std::vector<ContextEncoder> all, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;

  std::optional<double> std_floor() const override { return config_.std.floor; }
  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

  /// Without a bootstrap: (B, Nt, Dy).
  Moments base(const ContextState& state, const Tensor& xt) const;

  std::vector<ContextEncoder> encoders;
  Linear context;  // of what targets read in a bootstrapped context
  Mlp decoder;

 private:
  struct State;
  struct Points;
  using Encoded = std::vector<ContextEncoder::Encoded>;  // by each encoder

  std::unique_ptr<State> encode(const Context& context, Draws& draws, std::int64_t samples) const;
  Tensor new_values(const Context& context, const Points& points, const Resampling::Part& part) const;
  std::vector<Tensor> read(const Encoded& encoded, const Tensor& x) const;
  std::vector<Tensor> read_by_sample(const Encoded& encoded, const Tensor& x) const;
  Tensor units(std::vector<Tensor> read, const Tensor& x) const;
  Tensor outputs(const Tensor& units) const;
  Tensor functions(const State& state, const Tensor& units, const Tensor& xt) const;

  BootstrapConfig config_;
};

/// Reads `train_samples`, the K of training.
std::int64_t read_train_samples(ConfigReader& reader);

}  // namespace npzoo
