#include "models/event_forecast.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "datasets/events/source.h"
#include "engine/tape.h"
#include "models/predictions/event_prediction.h"
#include "models/predictions/host.h"

namespace npzoo {

namespace {

const EventPrediction& as_events(const Prediction& prediction) {
  const auto* events = dynamic_cast<const EventPrediction*>(&prediction);
  check(events != nullptr, "[events] the model does not predict events, expected one that does, such as thp-plus");
  return *events;
}

/// Numbers `first` … of events, for some tasks.
Tensor event_numbers(std::int64_t tasks, std::int64_t first, std::int64_t count, DType dtype) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < tasks * count; ++i) x.push_back(static_cast<double>(first + i % count));
  return Tensor::from<double>({tasks, count, 1}, std::span(x)).to(dtype).to(default_device());
}

/// All events of some sequences of equal length, as contexts.
Context contexts_of(const std::vector<EventSequence>& sequences, DType dtype) {
  std::vector<SequencePiece> pieces;
  for (const EventSequence& s : sequences) pieces.push_back({&s, 0, s.events()});
  const std::int64_t events = sequences.front().events();
  const Task task =
      event_task(pieces, {.context = events, .ragged = false}, {.dtype = dtype, .device = default_device()});
  return {task.xc, task.yc, {}};
}

/// Some paths at a time: a context of each is held.
constexpr std::int64_t kPathsTogether = 64;
constexpr std::int64_t kEventsTogether = 32;

/// Goes on with some paths that have come equally far.
void extend(const Model& model, std::vector<EventSequence>& paths, Draws& draws, DType dtype) {
  const std::int64_t first = paths.front().events(), count = std::ssize(paths);
  const auto state = model.condition(contexts_of(paths, dtype), draws, 1);
  const auto prediction = model.query(*state, event_numbers(count, first, kEventsTogether, dtype));
  static_cast<void>(as_events(*prediction));
  const Tensor more = prediction->sample(1, draws);  // (1, n, events, 2)
  const auto values = more.values<double>();
  for (std::size_t b = 0; b < paths.size(); ++b)
    for (std::size_t i = 0; i < static_cast<std::size_t>(kEventsTogether); ++i) {
      const std::size_t at = 2 * (b * static_cast<std::size_t>(kEventsTogether) + i);
      paths[b].end += values[at];
      paths[b].times.push_back(paths[b].end);
      paths[b].marks.push_back(static_cast<std::int64_t>(values[at + 1]));
    }
}

/// What comes after `events` events and until `end`.
EventSequence behind(EventSequence path, std::int64_t events, double end) {
  const auto last = std::ranges::upper_bound(path.times, end) - path.times.begin();
  return {{path.times.begin() + events, path.times.begin() + std::max(last, events)},
          {path.marks.begin() + events, path.marks.begin() + std::max(last, events)},
          end};
}

}  // namespace

NextEventForecast forecast_next(const Model& model, const EventSequence& past, std::span<const double> probabilities,
                                DType dtype) {
  const NoGrad off;
  Draws draws(0, Purpose::prediction, 0);
  const auto state = model.condition(contexts_of({past}, dtype), draws, 1);
  const auto prediction = model.query(*state, event_numbers(1, past.events(), 1, dtype));
  // The values asked about do not matter for what is said before they are known.
  const EventScores scores = as_events(*prediction).score(Tensor::full({1, 1, 2}, 0, dtype));
  const Marginals marginals = on_host(prediction->marginals());
  NextEventForecast forecast{.expected_gap = scores.expected_gap.item(), .mark_probability = {}};
  for (const double p : probabilities) forecast.gap_quantiles.push_back(quantile(marginals, p).item());
  const auto marks = scores.mark_probability.values<double>();
  forecast.mark_probability.assign(marks.begin(), marks.end());
  return forecast;
}

std::vector<EventSequence> continue_events(const Model& model, const EventSequence& past, double horizon,
                                           std::int64_t paths, std::uint64_t seed, DType dtype) {
  const NoGrad off;
  EventSequence start = past;
  start.end = past.times.empty() ? 0 : past.times.back();
  const double end = start.end + horizon;
  std::vector<EventSequence> all;
  for (std::int64_t first = 0; first < paths; first += kPathsTogether) {
    std::vector<EventSequence> some(static_cast<std::size_t>(std::min(kPathsTogether, paths - first)), start);
    Draws draws = Draws(seed, Purpose::prediction, 0).from(first);
    while (std::ranges::any_of(some, [end](const EventSequence& path) { return path.end <= end; })) {
      check(some.front().events() < PointProcess::kMostEvents,
            "[events] a path has more than {} events up to the horizon, expected a nearer one",
            PointProcess::kMostEvents);
      extend(model, some, draws, dtype);
    }
    for (const EventSequence& path : some) all.push_back(behind(path, past.events(), end));
  }
  return all;
}

std::vector<double> model_intensities(const Model& model, const EventSequence& s, std::span<const double> times,
                                      DType dtype) {
  const NoGrad off;
  check(s.events() > 0, "[events] an empty sequence found, expected one event at least");
  // An end behind all times, so that those after the last event have a target, too.
  EventSequence seen = s;
  seen.end = std::max({s.end, times.empty() ? 0 : times.back(), std::nextafter(s.times.back(), s.times.back() + 1)});
  const Task task = event_task({{&seen, 0, seen.events()}}, {.context = 1, .ragged = false},
                               {.dtype = dtype, .device = default_device()});
  std::vector<std::vector<std::size_t>> of_targets(static_cast<std::size_t>(task.xt.dim(1)));
  for (std::size_t t = 0; t < times.size(); ++t) {
    const auto before = std::ranges::lower_bound(s.times, times[t]) - s.times.begin();  // events
    if (before > 0) of_targets[static_cast<std::size_t>(before - 1)].push_back(t);
  }
  std::size_t most = 1;
  for (const auto& of_target : of_targets) most = std::max(most, of_target.size());
  std::vector<double> elapsed(of_targets.size() * most, 1);
  for (std::size_t i = 0; i < of_targets.size(); ++i)
    for (std::size_t k = 0; k < of_targets[i].size(); ++k) elapsed[i * most + k] = times[of_targets[i][k]] - s.times[i];

  Draws draws(0, Purpose::prediction, 0);
  const auto state = model.condition({task.xc, task.yc, {}}, draws, 1);
  const auto prediction = model.query(*state, task.xt);
  const Shape shape{1, std::ssize(of_targets), static_cast<std::int64_t>(most)};
  const Tensor found = as_events(*prediction).intensities(task.yt, Tensor::from<double>(shape, std::span(elapsed)));
  const auto marks = static_cast<std::size_t>(found.dim(3));
  std::vector<double> all(times.size() * marks, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < of_targets.size(); ++i)
    for (std::size_t k = 0; k < of_targets[i].size(); ++k)
      std::ranges::copy(found.values<double>().subspan((i * most + k) * marks, marks),
                        all.begin() + static_cast<std::ptrdiff_t>(of_targets[i][k] * marks));
  return all;
}

}  // namespace npzoo
