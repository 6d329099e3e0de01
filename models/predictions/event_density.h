#pragma once

#include "npzoo/models/prediction.h"

namespace npzoo {

/// Scores of each event of sequences, given all events before it as they were (teacher-forced). y (B, Nt, 2) is gaps
/// and marks; mark −1 is no event but the end of a sequence: nothing happened during the gap
/// (npzoo/datasets/events/event_task.h). All are float64 on the CPU, computed in double.
struct EventScores {
  Tensor time;              // (B, Nt) log p(gap) or, of an end, log P(nothing happens for so long), nats
  Tensor mark;              // (B, Nt) log P(mark | gap); 0 of an end
  Tensor expected_gap;      // (B, Nt)
  Tensor mark_probability;  // (B, Nt, M) of the mark of the event, before its gap is known
};

/// The distribution of the next event after each event of a sequence: the time until it, the gap, and its class, the
/// mark. Each is given the events before it, so the density of a sequence is the product over its events.
class EventDensity : public Prediction {
 public:
  /// Throws Error for a mark that there is not.
  virtual EventScores score(const Tensor& y) const = 0;
  /// Intensity of each mark when `elapsed` (B, Nt, S) has gone by since the event before each target and nothing has
  /// happened: (B, Nt, S, M), float64 on the CPU.
  virtual Tensor intensities(const Tensor& elapsed) const = 0;
};

/// 1 at the mark, else 0; of a mark below 0 all 0. mark (B, N, 1) → (B, N, count), on any device.
Tensor chosen_marks(const Tensor& mark, std::int64_t count);

/// Throws Error for y of other shapes than (tasks, events, 1) or, with marks, (tasks, events, 2), and, where y is on
/// the host, for a gap below 0 and for a mark that is neither one of 0 … marks − 1 nor −1, an end.
void check_events(const Tensor& y, std::int64_t tasks, std::int64_t events, std::int64_t marks);
/// Throws Error if a gap is below 0; for values on the host.
void check_gaps(const Tensor& gaps);

}  // namespace npzoo
