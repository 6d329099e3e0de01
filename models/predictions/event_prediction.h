#pragma once

#include "models/predictions/autoregressive.h"
#include "models/predictions/next_event.h"

namespace npzoo {

/// What is said of each event of sequences, given all events before it as they were: teacher-forced. y (B, Nt, 2) is
/// gaps and marks; mark −1 is no event but the end of a sequence: for the gap, nothing happened
/// (datasets/events/source.h). All are float64 on the CPU, computed in double.
struct EventScores {
  Tensor time;              // (B, Nt) log p(gap) or, of an end, log P(nothing happens for so long), nats
  Tensor mark;              // (B, Nt) log P(mark | gap); 0 of an end
  Tensor expected_gap;      // (B, Nt)
  Tensor mark_probability;  // (B, Nt, M) of the mark of the event, before its gap is known
};

/// Where one prediction of all targets is at hand. Throws Error for a mark that there is not.
EventScores score_events(const NextEvent& each, const Tensor& y);

/// Sequences of events, each given those before: what models of events predict.
class EventPrediction : public Autoregressive {
 public:
  using Autoregressive::Autoregressive;

  virtual EventScores score(const Tensor& y) const = 0;
  /// Intensity of each mark when `elapsed` (B, Nt, S) has gone by since the event before each target and nothing has
  /// happened: (B, Nt, S, M), float64 on the CPU. y as above; a target's own event is not looked at.
  virtual Tensor intensities(const Tensor& y, const Tensor& elapsed) const = 0;
};

/// The same where one prediction of all targets is at hand: density and probability of the mark, divided by survival.
Tensor intensities(const NextEvent& each, const Tensor& elapsed);

}  // namespace npzoo
