#pragma once

#include "npzoo/models/conditional/lineages.h"
#include "npzoo/models/likelihoods/output_head.h"

namespace npzoo {

struct CanpConfig {
  Lineage lineage = Lineage::tnp;
  AttendingConfig attending{};
  std::int64_t pre_depth = 4, post_depth = 2;  // of the path that pools, which dl4bi does not have
  std::int64_t decoder_depth = 3;
  StdForm std{StdForm::Kind::softplus, 0.1};
  Likelihood likelihood{};
};

/// A context as targets attend to it.
struct AttendedContext final : HeldContext {
  AttendedContext(HeldContext held, ContextEncoder::Encoded states)
      : HeldContext(std::move(held)), encoded(std::move(states)) {}

  ContextEncoder::Encoded encoded;
};

/// Conditional attentive neural process (Lee et al., "Bootstrapping neural processes", NeurIPS 2020): an attentive
/// neural process (Kim et al., ICLR 2019) without latent variables. The defaults are those of the BNP and TNP authors'
/// code, whose targets read the mean of the context as well.
class Canp final : public Model {
 public:
  Canp(const CanpConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;

  std::optional<double> std_floor() const override { return floor_of(config_.likelihood, config_.std.floor); }
  Likelihood likelihood() const override { return config_.likelihood; }
  std::int64_t dim_x() const override { return config_.attending.dim_x; }
  std::int64_t dim_y() const override { return config_.attending.dim_y; }

  ContextEncoder encoder;
  Mlp decoder;

 private:
  CanpConfig config_;
};

/// Makes the encoder of a CANP: attention and, in tnp, a mean.
ContextEncoder canp_encoder(const CanpConfig& config, const char* model, Initializer& init);

/// Reads what CANP and BANP have in common, `architecture` tnp or dl4bi before all else.
CanpConfig read_canp_config(ConfigReader& reader);

}  // namespace npzoo
