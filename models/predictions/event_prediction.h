#pragma once

#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/predictions/event_density.h"

namespace npzoo {

/// Sequences of events, each given those before: what models of events predict.
class EventPrediction : public Autoregressive {
 public:
  using Autoregressive::Autoregressive;

  virtual EventScores score(const Tensor& y) const = 0;
  /// Intensity of each mark when `elapsed` (B, Nt, S) has gone by since the event before each target and nothing has
  /// happened: (B, Nt, S, M), float64 on the CPU. y (B, Nt, 2) is what came before, a target's own event is not looked
  /// at.
  virtual Tensor intensities(const Tensor& y, const Tensor& elapsed) const = 0;
};

}  // namespace npzoo
