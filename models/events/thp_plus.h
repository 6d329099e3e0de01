#pragma once

#include "models/blocks/attention.h"
#include "models/blocks/layer_norm.h"
#include "models/events/event_model.h"

namespace npzoo {

struct ThpPlusConfig : EventModelConfig {
  std::int64_t hidden = 64;  // of the feed-forward network
  std::int64_t layers = 2, heads = 1;
  std::int64_t key_width = 64, value_width = 64;  // of each head
};

/// Attention to what came before and a GELU network, each with a residual connection and layer normalisation after it.
/// Queries, keys and values have no biases.
class HawkesLayer {
 public:
  HawkesLayer(const ThpPlusConfig& config, Initializer& init);

  KeysValues keys_values(const Tensor& x) const { return {key(x), value(x)}; }
  /// x (B, N, E) → (B, N, E)
  Tensor operator()(const Tensor& x, const KeysValues& seen, const PrefixMask& mask) const;
  void visit(ModuleVisitor& visitor);

  Linear query, key, value, out;
  LayerNorm norm1;
  Linear expand, contract;
  LayerNorm norm2;

 private:
  int heads_;
};

/// THP+, the transformer Hawkes process whose intensity is that of a mixture of log-normal gaps: the baseline of Bae et
/// al., "Meta temporal point processes", ICLR 2023, github.com/BorealisAI/meta-tpp @a930b18, `TransformerMix`. Causal
/// attention, the times' encoding added to what enters each layer, no recurrent layer.
///
/// An event is absorbed by extending cached keys and values, so n events take time O(n²) in attention. Corrected: the
/// gap that sequences are observed for after their last event counts as such an end, and the mark of the last event
/// is not given a second time; losses are not penalised (for their objective see thp_plus_authors.h). Times are encoded
/// from the start of the sequence or, as theirs may have been, gaps. The first event of an empty context is predicted
/// from a history of zeros.
class ThpPlus final : public EventModel {
 public:
  ThpPlus(const ThpPlusConfig& config, Initializer& init);

  void visit(ModuleVisitor& visitor) override;

  std::vector<HawkesLayer> layers;

 protected:
  std::unique_ptr<EventState> begin(std::int64_t batch, const Draws& draws, std::int64_t samples) const override;
  Tensor histories(const EventState& state, const EmbeddedEvents& events, Draws& draws) const override;
  std::unique_ptr<EventState> absorb(const EventState& state, const EmbeddedEvents& events,
                                     Draws& draws) const override;

 private:
  /// Histories after each event, and the layers' keys and values with them.
  Tensor encode(const EventState& state, const EmbeddedEvents& events, Draws& draws,
                std::vector<KeysValues>& layers_seen) const;

  ThpPlusConfig config_;
};

}  // namespace npzoo
