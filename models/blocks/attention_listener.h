#pragma once

#include <optional>
#include <utility>

#include "npzoo/engine/tensor.h"
#include "npzoo/ops/masked_attention/attention_weights.h"

namespace npzoo {

/// Describes keys to listeners of attention.
struct KeyOrigin {
  /// The layer, from 0, in which targets read the context by these keys; none: they are not of the context.
  std::optional<std::size_t> layer{};
  /// (B, N, Nc), kept by KeepAttention: how each key has read the context's points; undefined: key j is point j.
  Tensor reading{};
};

/// Attention of queries to keys of the context, after it has happened.
struct HeardAttention {
  const KeyOrigin& origin;
  Tensor weights;        // (B, H, Nq, N), float64 on the CPU
  const Tensor& values;  // (B, N, H · Dv)
  const Tensor& out;     // (B, Nq, H · Dv): weights · values
};

/// Hears, while it lives, of all attention to a context on its thread.
class AttentionListener {
 public:
  AttentionListener();
  virtual ~AttentionListener();
  AttentionListener(const AttentionListener&) = delete;
  AttentionListener& operator=(const AttentionListener&) = delete;

  virtual void hear(const HeardAttention& heard) = 0;

  /// Returns the latest listener of this thread; null: none.
  static AttentionListener* current();

 private:
  KeepAttention keep_;
  AttentionListener* before_;
};

/// To be called with the result of attention: `weights` makes what only a listener needs.
template <class Weights>
void tell_listener(const KeyOrigin& origin, const Tensor& values, const Tensor& out, const Weights& weights) {
  AttentionListener* const listener = AttentionListener::current();
  if (listener && origin.layer) listener->hear({origin, weights(), values, out});
}

}  // namespace npzoo
