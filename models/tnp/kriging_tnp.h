#pragma once

#include <string>

#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/blocks/transformer.h"
#include "npzoo/models/model.h"
#include "npzoo/ops/kriging/kriging.h"

namespace npzoo {

struct KrigingTnpConfig {
  std::int64_t dim_x = 1, dim_y = 1;
  std::string bank = "broad-1";  // see kriging_bank.h
  std::int64_t kernels = 8;      // of the bank, that are kept for each task
  std::int64_t components = 3;   // Gaussians in a prediction
  std::int64_t embedder_depth = 2;
  std::int64_t head_hidden = 128;
  TransformerConfig transformer{};
};

/// A transformer neural process that corrects kriging, which stands in what the network sees and in what it says: a
/// Gaussian process regression averaged over a bank of kernels (`npzoo/ops/kriging`) gives mean μ and deviation σ at
/// each target, and at each context point given all others. Tokens are, of the context [x; y; (y − μ) / σ; log σ; how
/// far kernels disagree; 1], of targets [x; μ; 0; log σ; disagreement; 0]; the transformer is that of TNP-D. Its head
/// gives weights, δ and s of a mixture of Gaussians N(μ + σ δ, (σ exp s)²). Before training all δ are 0, and most of
/// the weight is on s = 0: it begins as kriging.
///
/// Values are expected to have mean 0 and standard deviation 1 or so in each task, as `predict` makes them. Each
/// channel is kriged by itself. One to three inputs.
class KrigingTnp : public Model {
 public:
  KrigingTnp(const KrigingTnpConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  /// The negative log-likelihood, but no target counts for more than 10 nats: tables have values that nothing explains.
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;

  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

  Mlp embedder;
  TwoStreamTransformer encoder;
  Mlp predictor;

 private:
  Tensor components(const struct KrigingTnpState& context, const Tensor& xt) const;

  KrigingTnpConfig config_;
  Tensor bank_;
};

}  // namespace npzoo
