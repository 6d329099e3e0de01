#pragma once

#include <vector>

#include "npzoo/models/blocks/attention.h"
#include "npzoo/models/blocks/layer_norm.h"
#include "npzoo/models/events/event_model.h"

namespace npzoo {

struct HawkesEncoderConfig {
  std::int64_t width = 64;   // E
  std::int64_t hidden = 64;  // of the feed-forward network
  std::int64_t layers = 2, heads = 1;
  std::int64_t key_width = 64, value_width = 64;  // of each head
};

/// Attention to what came before and a GELU network, each with a residual connection and layer normalisation after it.
/// Queries, keys and values have no biases.
class HawkesLayer {
 public:
  HawkesLayer(const HawkesEncoderConfig& config, Initializer& init);

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

/// Keys and values of each layer: those of a row's events, then padding.
struct EncodedEvents {
  std::vector<KeysValues> layers;  // (B, N, H·D)
  Tensor lengths{};                // as in Task
};

/// The encoder of the transformer Hawkes process (Zuo, Jiang, Li, Zhao and Zha, ICML 2020, section 3.2): causal
/// attention, the times' encoding added to what enters each layer. An event is absorbed by extending cached keys and
/// values, so n events take time O(n²).
class HawkesEncoder {
 public:
  HawkesEncoder(const HawkesEncoderConfig& config, Initializer& init);

  /// Before any event.
  EncodedEvents begin(std::int64_t batch) const;
  /// Returns the encoding after each of more events, (B, N, E). `after` becomes the state after `before` and all of
  /// them.
  Tensor operator()(const EncodedEvents& before, const EmbeddedEvents& events, Draws& draws,
                    EncodedEvents& after) const;
  void visit(ModuleVisitor& visitor) { visitor("layers", layers); }

  std::vector<HawkesLayer> layers;

 private:
  HawkesEncoderConfig config_;
};

/// Reads n_layers, n_head, d_inner, d_k and d_v.
HawkesEncoderConfig read_hawkes_encoder(ConfigReader& reader, std::int64_t width);

}  // namespace npzoo
