#pragma once

#include "npzoo/models/blocks/perceiver.h"
#include "npzoo/models/model.h"

namespace npzoo {

struct EqtnpConfig : PerceiverModelConfig {
  /// Which state of the context decoder layer i reads: the one that enters encoder layer i, of which there is then one
  /// fewer (the authors' code), or the one that leaves it (the paper).
  enum class Wiring : std::uint8_t { entering, leaving };
  Wiring wiring = Wiring::entering;
};

/// EQTNP, the efficient-queries transformer neural process (Feng, Hajimirsadeghi, Bengio and Ahmed, "Efficient queries
/// transformer neural processes", Workshop on Meta-Learning at NeurIPS 2022, section 3.1):
///
///     CEMB₀ = embed(context),  CEMBᵢ = SelfAttention(CEMBᵢ₋₁),  QEMB₀ = embed(query),
///     QEMBᵢ = CrossAttention(QEMBᵢ₋₁, CEMBᵢ),  output = Predictor(QEMB_K).
///
/// A query costs time linear in the number of context points; conditioning is quadratic in it. The defaults are those
/// of the authors' code: there QEMBᵢ reads CEMBᵢ₋₁, the residual connections start from the normalised state
/// (PerceiverLayer), and queries have an embedder of their own. 492,354 parameters in one dimension.
class Eqtnp final : public Model {
 public:
  Eqtnp(const EqtnpConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;

  std::optional<double> std_floor() const override { return floor_of(config_.likelihood, config_.std.floor); }
  Likelihood likelihood() const override { return config_.likelihood; }
  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

  Mlp embedder;
  std::vector<PerceiverLayer> encoder;
  PerceiverDecoder decoder;

 private:
  EqtnpConfig config_;
};

/// Reads what `read_perceiver_config` does, and `wiring`: "entering" (default) or "leaving".
std::unique_ptr<Model> make_eqtnp(const ModelConfig& config, const InitialWeights& weights);

}  // namespace npzoo
