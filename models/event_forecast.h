#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "datasets/events/process.h"
#include "models/model.h"

// What a model of events, whose parameters are of a dtype, says of a sequence. All throw Error for a model that
// predicts no events.

namespace npzoo {

/// The event that follows a sequence.
struct NextEventForecast {
  double expected_gap = 0;               // since the last event
  std::vector<double> gap_quantiles{};   // one for each probability asked for
  std::vector<double> mark_probability;  // (M), before the gap is known
};

NextEventForecast forecast_next(const Model& model, const EventSequence& past, std::span<const double> probabilities,
                                DType dtype = DType::float32);

/// How a sequence may go on until `horizon` after its last event: `paths` continuations, free-running, each without
/// what was there before and with times that go on. Throws Error for one of more than a million events.
std::vector<EventSequence> continue_events(const Model& model, const EventSequence& past, double horizon,
                                           std::int64_t paths, std::uint64_t seed, DType dtype = DType::float32);

/// Intensities of each mark at some ascending times up to a sequence's end, each given the events before it as they
/// were: (times, M). The first event is given to the model: up to it, NaN.
std::vector<double> model_intensities(const Model& model, const EventSequence& sequence, std::span<const double> times,
                                      DType dtype = DType::float32);

}  // namespace npzoo
