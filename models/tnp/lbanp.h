#pragma once

#include "npzoo/models/blocks/perceiver.h"
#include "npzoo/models/model.h"

namespace npzoo {

struct AuthorsPlace;

struct LbanpConfig : PerceiverModelConfig {
  std::int64_t latents = 8;  // the paper's tables have runs with 8 and with 128
};

/// LBANP, the latent bottlenecked attentive neural process (Feng, Hajimirsadeghi, Bengio and Ahmed, "Latent
/// bottlenecked attentive neural processes", ICLR 2023, section 3): L learned latents read the embedded context and
/// one another in every layer; layer i of the decoder reads the latents that leave layer i.
///
/// Conditioning is linear in the number of context points and a query does not depend on it. Since the latents of one
/// layer query the context of the next, new points change everything: the model cannot stream. 792,514 parameters in
/// one dimension with 128 latents.
class Lbanp : public Model {
 public:
  Lbanp(const LbanpConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;

  std::optional<double> std_floor() const override { return floor_of(config_.likelihood, config_.std.floor); }
  Likelihood likelihood() const override { return config_.likelihood; }
  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

  Mlp embedder;
  Parameter latents;  // (L, E)
  std::vector<LatentLayer> encoder;
  PerceiverDecoder decoder;

 protected:
  double drop_y() const { return config_.drop_y; }
  /// Encodes targets xt (B, Nt, Dx): (B, Nt, E).
  Tensor encode_targets(const ContextState& state, const Tensor& xt) const;

 private:
  LbanpConfig config_;
};

/// Reads what `read_perceiver_config` does, and `num_latents`. `model` opens the messages.
LbanpConfig read_lbanp_config(ConfigReader& reader, const std::string& model);
/// From that.
std::unique_ptr<Model> make_lbanp(const ModelConfig& config, const InitialWeights& weights);

/// Returns the authors' place of a parameter of LBANP.
AuthorsPlace authors_lbanp(const std::string& name);

}  // namespace npzoo
