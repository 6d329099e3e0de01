#pragma once

#include <map>
#include <string>

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/perceiver.h"
#include "npzoo/models/model.h"
#include "npzoo/ops/incremental_cross_attention/incremental_cross_attention.h"

namespace npzoo {

struct AuthorsPlace;

/// Constant memory attention block (CMANP paper, section 3.2): latents of its own compress the context, the latents
/// that enter read what they have gathered.
class ConstantMemoryBlock {
 public:
  ConstantMemoryBlock(const PerceiverConfig& config, std::int64_t own_latents, Initializer& init);

  /// Returns the queries of the block's own latents for context points: (B, Lb, E). They do not depend on the context.
  Tensor queries(std::int64_t batch) const;
  /// Returns the state after more points (B, n, E); an undefined `state` is the one before any.
  AttentionState gather(const AttentionState& state, const Tensor& queries, const Tensor& points,
                        const PrefixMask& mask) const;
  /// latents (B, L, E) → (B, L, E)
  Latents operator()(const AttentionState& state, const Tensor& latents) const;

  void visit(ModuleVisitor& visitor);

  Parameter latents;     // (Lb, E)
  LatentLayer compress;  // own latents ← context
  LatentLayer read;      // latents that enter ← own latents
};

struct CmanpConfig : PerceiverModelConfig {
  std::int64_t latents = 128;
  std::int64_t latents_per_block = 128;
  /// Context points that are absorbed at a time when nothing is recorded; 0: as many as other models take.
  std::int64_t chunk = 0;
};

/// A context of any length in constant memory: the points themselves are gone.
struct CmanpState final : ContextState {
  std::vector<AttentionState> gathered;  // of each block
  std::vector<Tensor> latents;           // that leave each block, (B, L, E)
  std::vector<KeysValues> read;          // of them, for each decoder layer, (B, L, E)
};

/// CMANP, the constant memory attentive neural process (Feng, Tung, Hajimirsadeghi, Bengio and Ahmed, "Memory efficient
/// neural processes via constant memory attention block", ICML 2024, section 3.3): latents go through a chain of
/// constant memory attention blocks over the embedded context; layer i of the decoder reads the latents that leave
/// block i.
///
/// A block's own latents query the context whatever it holds, so their attention can go on when points arrive (section
/// 3.1.1): `update` takes time and memory for the new points alone. 1,341,634 parameters in one dimension.
class Cmanp : public Model {
 public:
  Cmanp(const CmanpConfig& config, Initializer& init);

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

  Mlp embedder;
  Parameter latents;  // (L, E)
  std::vector<ConstantMemoryBlock> encoder;
  PerceiverDecoder decoder;

 protected:
  double drop_y() const { return config_.drop_y; }
  /// Encodes targets xt (B, Nt, Dx): (B, Nt, E).
  Tensor encode_targets(const ContextState& state, const Tensor& xt) const;

 private:
  /// The blocks' states after more points.
  std::vector<AttentionState> absorb(std::vector<AttentionState> gathered, const Context& context) const;
  std::unique_ptr<CmanpState> encode(std::vector<AttentionState> gathered) const;

  CmanpConfig config_;
};

/// Reads what `read_perceiver_config` does, `num_latents`, `num_latents_per_layer` and, if it is given,
/// `CMAB_block_size` (the chunk). `model` opens the messages.
CmanpConfig read_cmanp_config(ConfigReader& reader, const std::string& model);
/// From that.
std::unique_ptr<Model> make_cmanp(const ModelConfig& config, const InitialWeights& weights);

/// Returns the authors' place of a parameter of CMANP.
AuthorsPlace authors_cmanp(const std::string& name);
/// Returns the tensors of a CmanpState that the authors' recordings hold.
std::map<std::string, Tensor> authors_cmanp_state(const ContextState& state);

}  // namespace npzoo
