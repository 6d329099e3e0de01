#pragma once

#include "npzoo/models/conditional/lineages.h"
#include "npzoo/models/likelihoods/output_head.h"

namespace npzoo {

/// A context of any length.
struct PooledContext final : ContextState {
  PooledPoints points;
  Tensor encoded;  // (B, encoders · hidden)
};

struct CnpConfig {
  Lineage lineage = Lineage::tnp;
  std::int64_t dim_x = 1, dim_y = 1;
  std::int64_t hidden = 128;
  std::int64_t encoders = 2;  // independent ones, their outputs side by side
  std::int64_t pre_depth = 4, post_depth = 2, decoder_depth = 3;
  StdForm std{StdForm::Kind::softplus, 0.1};
  Likelihood likelihood{};
};

/// Conditional neural process (Garnelo et al., "Conditional neural processes", ICML 2018). The defaults are those of
/// the BNP and TNP authors' code: two encoders, so that its size is near that of a neural process. The mean is updated
/// incrementally, so `update` takes time and memory for the new points alone.
class Cnp final : public Model {
 public:
  Cnp(const CnpConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  std::unique_ptr<ContextState> do_update(const ContextState& state, const Context& more) const override;
  bool streams() const override { return true; }
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;

  std::optional<double> std_floor() const override { return floor_of(config_.likelihood, config_.std.floor); }
  Likelihood likelihood() const override { return config_.likelihood; }
  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

  std::vector<PoolingEncoder> encoders;
  Mlp decoder;

 private:
  /// The state after more points than those of before.
  std::unique_ptr<PooledContext> after(PooledPoints points, const Context& more) const;

  CnpConfig config_;
};

std::vector<PoolingEncoder> cnp_encoders(const CnpConfig& config, Initializer& init);

/// Reads what CNP and BNP have in common, `architecture` tnp or dl4bi before all else.
CnpConfig read_cnp_config(ConfigReader& reader);

}  // namespace npzoo
