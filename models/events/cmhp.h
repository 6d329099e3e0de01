#pragma once

#include "npzoo/models/cmanp/cmanp.h"
#include "npzoo/models/events/event_model.h"

namespace npzoo {

struct CmhpConfig : EventModelConfig {
  PerceiverConfig layer{};
  std::int64_t components = 8;
  std::int64_t layers = 2;
  std::int64_t latents = 8;
  std::int64_t latents_per_block = 8;
};

/// CMHP, the constant memory Hawkes process (Feng, Tung, Hajimirsadeghi, Bengio and Ahmed, "Memory efficient neural
/// processes via constant memory attention block", ICML 2024, appendix C.1.1): the transformer of THP+ replaced by
/// CMANP's blocks, whose latents, laid side by side, are the history that the next event is predicted from.
///
/// Its code was never published, and the paper gives no sizes. Decided here: the history after event i is what the
/// blocks say when they have gathered events up to i, so it is causal, and equal to that of a stream. All blocks gather
/// the same embedded events, the mark's embedding plus the encoding of the time. A set of them does not say which was
/// the last one, on which a process mostly depends, so its embedding is added to the latents that enter the first
/// block. Widths are those of THP+, with 8 latents of each kind.
///
/// An event is absorbed in time and memory that do not depend on how many came before. Training asks for all prefixes
/// of a sequence at once, which takes time O(n²).
class Cmhp final : public LogNormalEventModel {
 public:
  Cmhp(const CmhpConfig& config, Initializer& init);

  bool streams() const override { return true; }
  std::shared_ptr<const EventModel> copy() const override { return std::make_shared<const Cmhp>(*this); }
  void visit(ModuleVisitor& visitor) override;

  Parameter latents;  // (L, E)
  std::vector<ConstantMemoryBlock> blocks;

 protected:
  std::unique_ptr<EventState> begin(std::int64_t batch, const Draws& draws, std::int64_t samples) const override;
  Tensor histories(const EventState& state, const EmbeddedEvents& events, Draws& draws) const override;
  std::unique_ptr<EventState> absorb(const EventState& state, const EmbeddedEvents& events,
                                     Draws& draws) const override;

 private:
  /// Combines the state of the blocks for n histories (n, Lb, E) each, and the last events (n, 1, E): (n, L·E).
  Tensor read(const std::vector<AttentionState>& gathered, const Tensor& last) const;
};

}  // namespace npzoo
