#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/datasets/events/process.h"
#include "npzoo/models/model.h"

// What a model of events, whose parameters are of a dtype, says of a sequence. All throw Error for a model that
// predicts no events.

namespace npzoo {

/// The event that follows a sequence. If the sequence is observed beyond its last event (`end`), all gaps are given
/// that nothing has happened until then, and the mean is that of this distribution instead of the model's own forecast.
struct NextEventForecast {
  double expected_gap = 0;               // since the last event
  std::vector<double> gap_quantiles{};   // one for each probability asked for
  std::vector<double> mark_probability;  // (M), before the gap is known
};

NextEventForecast forecast_next(const Model& model, const EventSequence& past, std::span<const double> probabilities,
                                DType dtype = DType::float32);

/// The most events of a path that is drawn, and of all paths of a sequence together.
inline constexpr std::int64_t kMostEventsAhead = 4096, kMostEventsDrawn = 1'000'000;

/// How a sequence may go on until `horizon` after its `end`, given that nothing has happened since its last event:
/// `paths` continuations, free-running, each without what was there before and with times that go on. Throws Error if
/// about more than kMostEventsAhead events of a path, or kMostEventsDrawn of all, come until then, and for a silence
/// that the model thinks impossible.
std::vector<EventSequence> continue_events(const Model& model, const EventSequence& past, double horizon,
                                           std::int64_t paths, std::uint64_t seed, DType dtype = DType::float32);

/// Intensities of each mark at some ascending times up to a sequence's end, each given the events before it as they
/// were: (times, M). The first event is given to the model: up to it, NaN.
std::vector<double> model_intensities(const Model& model, const EventSequence& sequence, std::span<const double> times,
                                      DType dtype = DType::float32);

/// Log-density of each event's time and mark, given the events before it: (n), nats per unit of the model's time. The
/// first event is given to the model: NaN.
std::vector<double> event_log_likelihoods(const Model& model, const EventSequence& sequence,
                                          DType dtype = DType::float32);

}  // namespace npzoo
