#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/datasets/events/process.h"
#include "npzoo/models/model.h"

// Predictions of a model of events, whose parameters are of a dtype. All functions throw Error for a model that
// predicts no events.

namespace npzoo {

/// The next event of a sequence. If the sequence is observed beyond its last event (until `end`), the distribution is
/// conditional on no event until then, and the mean is that of this distribution instead of the model's own forecast.
struct NextEventForecast {
  double expected_gap = 0;               // since the last event
  std::vector<double> gap_quantiles{};   // one for each requested probability
  std::vector<double> mark_probability;  // (M), before the gap is known
};

NextEventForecast forecast_next(const Model& model, const EventSequence& past, std::span<const double> probabilities,
                                DType dtype = DType::float32);

/// The largest number of events of one path, and of all paths of a sequence together.
inline constexpr std::int64_t kMostEventsAhead = 4096, kMostEventsDrawn = 1'000'000;

/// Samples `paths` free-running continuations of a sequence until `horizon` after its `end`, given no event since its
/// last one. A continuation holds the new events alone; its times count on from those of the sequence. Throws Error if
/// about kMostEventsAhead events of one path, or kMostEventsDrawn of all paths, are exceeded, and for a silence that is
/// impossible under the model.
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
