#pragma once

#include "npzoo/models/blocks/biased_block.h"
#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/likelihoods/output_head.h"
#include "npzoo/models/model.h"

namespace npzoo {

struct BsaTnpConfig {
  std::int64_t dim_x = 1, dim_y = 1;
  BiasedBlockConfig block;
  std::int64_t blocks = 6, reps = 1;             // each block is used `reps` times, one after the other
  std::vector<std::int64_t> embedder{256, 128};  // hidden widths of the network that makes tokens
  std::vector<std::int64_t> head{256, 64};       // those of the network that predicts
  std::vector<std::pair<std::int64_t, std::int64_t>> embedded{};  // columns of inputs that enter tokens, begin and end
  double min_std = 0;
  Likelihood likelihood{};
};

/// The tokens that leave a use of a block.
struct BlockStates {
  Tensor targets, context;  // (B, Nt, E), (B, Nc, E)
};

/// BSA-TNP, the biased scan attention transformer neural process (Jenson et al., "Scalable spatiotemporal inference
/// with biased scan attention transformer neural processes", AISTATS 2026). Tokens are [flag; embedded inputs; values]
/// and the blocks those of TNP-KR, whose attention adds biases of the distances between places. Without embedded places
/// predictions do not change when all places are shifted. Inputs have no gradient.
class BsaTnp final : public Model {
 public:
  BsaTnp(const BsaTnpConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;
  std::optional<double> std_floor() const override { return floor_of(config_.likelihood, config_.min_std); }
  Likelihood likelihood() const override { return config_.likelihood; }
  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

  /// The states after each use of a block, in order; for comparisons. Padding is encoded as it is.
  std::vector<BlockStates> block_states(const Context& context, const Tensor& xt) const;

  Parameter flag;  // (2, 4): targets, context
  Mlp embedder;
  LayerNorm token_norm;
  std::vector<BiasedBlock> blocks;
  LayerNorm norm;
  Mlp head;

 private:
  enum class Stream : std::uint8_t { targets, context };

  /// Inputs x (B, N, Dx) and values (B, N, Dy) → (B, N, E).
  Tensor tokens(Stream stream, const Tensor& x, const Tensor& values) const;
  Tensor target_tokens(const Tensor& x) const;
  const BiasedBlock& block_of(std::size_t use) const { return blocks[use / static_cast<std::size_t>(config_.reps)]; }

  BsaTnpConfig config_;
};

}  // namespace npzoo
