#pragma once

#include "npzoo/models/forecast/series_blocks.h"

namespace npzoo {

struct ProbAttentionConfig {
  std::int64_t width = 512, heads = 8;
  std::int64_t factor = 5;  // of the numbers of queries that attend and of keys that are drawn
  bool causal = false;      // no step sees those behind it
  /// As in github.com/thuml/Autoformer @51c7d41, where what heads found is not put side by side again: row l of the
  /// result is rows l H to l H + H − 1 of all heads one behind the other.
  bool scrambled = false;
};

/// ProbSparse attention (Zhou et al., "Informer", AAAI 2021, section 3.1): of L queries only factor · ⌈ln L⌉ attend,
/// those whose logits with as many random keys differ most by max − sum / S, S being the number of keys. The others get
/// the mean of the values or, where it is causal, the sum of those up to their own step.
///
/// Keys are drawn for each task; the authors' code shares them in a batch. All logits are computed: they are needed
/// only in part, but cost little beside the projections at lengths up to the width.
class ProbAttention {
 public:
  ProbAttention(const ProbAttentionConfig& config, Initializer& init);

  /// x (B, L, E), memory (B, S, E) → (B, L, E)
  Tensor operator()(const Tensor& x, const Tensor& memory, const SeriesPass& pass) const;

  void visit(ModuleVisitor& visitor) { projections.visit(visitor); }

  SeriesProjections projections;

 private:
  /// Which queries attend, 1 or 0: (B, H, L, 1).
  Tensor chosen(const Tensor& logits, Draws& draws) const;
  std::int64_t count(std::int64_t points) const;

  ProbAttentionConfig config_;
};

}  // namespace npzoo
