#include "npzoo/models/applications/events/event_forecast.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/datasets/events/event_task.h"
#include "npzoo/datasets/events/table.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/application_call.h"
#include "npzoo/models/predictions/components.h"
#include "npzoo/models/predictions/event_prediction.h"
#include "npzoo/models/predictions/host.h"

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

/// The time since the last event.
double silence_of(const EventSequence& s) { return s.times.empty() ? 0 : std::max(s.end - s.times.back(), 0.0); }

/// log P(nothing happens for `gap`) of the first target of each task.
std::vector<double> log_survival(const EventPrediction& events, const std::vector<double>& gaps, DType dtype) {
  throw_if_stopped();
  std::vector<double> y;
  for (const double gap : gaps) y.insert(y.end(), {gap, kNoEvent});
  const Tensor scores =
      events.score(Tensor::from<double>({std::ssize(gaps), 1, 2}, std::span(y)).to(dtype).to(default_device())).time;
  return {scores.values<double>().begin(), scores.values<double>().end()};
}

/// Throws Error if the silence has so little probability that rounding decides the next event.
double checked_survival(const EventPrediction& events, std::int64_t tasks, double silence, DType dtype) {
  constexpr double kLeast = -40;  // nats
  const double found = log_survival(events, std::vector(static_cast<std::size_t>(tasks), silence), dtype)[0];
  check(found >= kLeast,
        "[events] no event for {:.4g} after the last one has log-probability {:.4g} under the model, expected {} or "
        "more; "
        "use a --now nearer to the last event",
        silence, found, kLeast);
  return found;
}

/// Gaps after a silence: of each task the gap g with log P(gap > g | gap > silence) = log_left.
std::vector<double> gaps_after(const EventPrediction& events, double silence, double survived,
                               const std::vector<double>& log_left, DType dtype) {
  constexpr int kDoublings = 200, kHalvings = 60;
  const std::size_t count = log_left.size();
  const auto still_left = [&](const std::vector<double>& gaps) { return log_survival(events, gaps, dtype); };
  std::vector<double> low(count, silence), high(count), middle(count);
  for (std::size_t b = 0; b < count; ++b) high[b] = silence * 1.001;
  for (int i = 0; i < kDoublings; ++i) {
    const std::vector<double> left = still_left(high);
    bool all = true;
    for (std::size_t b = 0; b < count; ++b)
      if (left[b] > survived + log_left[b]) {
        low[b] = high[b];
        high[b] = silence + 2 * (high[b] - silence);
        all = false;
      }
    if (all) break;
  }
  for (int i = 0; i < kHalvings; ++i) {
    for (std::size_t b = 0; b < count; ++b) middle[b] = low[b] + (high[b] - low[b]) / 2;
    const std::vector<double> left = still_left(middle);
    for (std::size_t b = 0; b < count; ++b) (left[b] > survived + log_left[b] ? low : high)[b] = middle[b];
  }
  return middle;
}

/// E(gap | gap > silence): the silence and the integral of what is left, over the logarithm of the time after it.
double mean_gap_after(const EventPrediction& events, double silence, double survived, DType dtype) {
  constexpr double kStep = 0.1, kFirst = 1e-4, kEnough = 1e-9;
  double sum = 0;
  for (double log_after = std::log(kFirst * silence); log_after < std::log(kLatestEvent); log_after += kStep) {
    const double after = std::exp(log_after),
                 more = kStep * after * std::exp(log_survival(events, {silence + after}, dtype)[0] - survived);
    sum += more;
    if (after > silence && more < kEnough * sum) break;
  }
  return silence + sum;
}

/// Paths that are drawn at a time: each holds a context.
constexpr std::int64_t kPathsTogether = 64;
constexpr std::int64_t kEventsTogether = 32;

/// Continues some paths of equal length.
void extend(const Model& model, std::vector<EventSequence>& paths, Draws& draws, DType dtype) {
  throw_if_stopped();
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

/// Draws the first event after a silence.
void extend_after_silence(const Model& model, std::vector<EventSequence>& paths, double silence, Draws& draws,
                          DType dtype) {
  const std::int64_t first = paths.front().events(), count = std::ssize(paths);
  const auto state = model.condition(contexts_of(paths, dtype), draws, 1);
  const auto prediction = model.query(*state, event_numbers(count, first, 1, dtype));
  const EventPrediction& events = as_events(*prediction);
  const Tensor when = draws.uniform(1, count, {1}, DType::float64, Device::cpu),
               which = draws.uniform(1, count, {1}, DType::float64, Device::cpu);
  std::vector<double> log_left;
  for (const double u : when.values<double>()) log_left.push_back(std::log1p(-u));
  const std::vector<double> gaps =
      gaps_after(events, silence, checked_survival(events, count, silence, dtype), log_left, dtype);
  const Tensor rates = events.intensities(Tensor::full({count, 1, 2}, 0, dtype),
                                          Tensor::from<double>({count, 1, 1}, std::span(gaps)));  // (n, 1, 1, M)
  const auto marks = static_cast<std::size_t>(rates.dim(3));
  for (std::size_t b = 0; b < paths.size(); ++b) {
    std::vector<double> log_rates;
    for (const double rate : rates.values<double>().subspan(b * marks, marks)) log_rates.push_back(std::log(rate));
    paths[b].end += gaps[b];
    paths[b].times.push_back(paths[b].end);
    paths[b].marks.push_back(static_cast<std::int64_t>(choose(log_rates, which.values<double>()[b])));
  }
}

/// Throws Error if the horizon is too many events away, judged by the events so far of some of `all` paths.
void check_reach(const std::vector<EventSequence>& paths, std::int64_t all, std::int64_t before, double from,
                 double end) {
  double events = 0, covered = 0;
  for (const EventSequence& path : paths) {
    events += static_cast<double>(path.events() - before);
    covered += path.end - from;
  }
  const double expected = events / covered * (end - from);
  const std::int64_t allowed = std::min(kMostEventsAhead, kMostEventsDrawn / all);
  const auto most = static_cast<double>(allowed);
  check(expected <= most && paths.front().events() - before <= 2 * kMostEventsAhead,
        "[events] about {:.2g} events on each path until the horizon found, expected at most {}; use a horizon {:.2g} "
        "times as long",
        expected, allowed, most / expected);
}

/// Returns the events after the first `events` ones, and the end.
EventSequence behind(EventSequence path, std::int64_t events, double end) {
  const std::int64_t last = std::ranges::upper_bound(path.times, end) - path.times.begin();
  return {{path.times.begin() + events, path.times.begin() + std::max(last, events)},
          {path.marks.begin() + events, path.marks.begin() + std::max(last, events)},
          end};
}

}  // namespace

NextEventForecast forecast_next(const Model& model, const EventSequence& past, std::span<const double> probabilities,
                                DType dtype) {
  return call_application({}, &model, [&] {
    Draws draws(0, Purpose::prediction, 0);
    EventSequence until_last = past;
    until_last.end = past.times.empty() ? 0 : past.times.back();
    const auto state = model.condition(contexts_of({until_last}, dtype), draws, 1);
    const auto prediction = model.query(*state, event_numbers(1, past.events(), 1, dtype));
    // The values of targets do not matter: each prediction precedes its value.
    const EventScores scores = as_events(*prediction).score(Tensor::full({1, 1, 2}, 0, dtype));
    const Marginals marginals = on_host(prediction->marginals());
    NextEventForecast forecast{.expected_gap = scores.expected_gap.item(), .mark_probability = {}};
    if (const double silence = silence_of(past); silence > 0) {
      const EventPrediction& events = as_events(*prediction);
      const double survived = checked_survival(events, 1, silence, dtype);
      forecast.expected_gap = mean_gap_after(events, silence, survived, dtype);
      for (const double p : probabilities)
        forecast.gap_quantiles.push_back(gaps_after(events, silence, survived, {std::log1p(-p)}, dtype)[0]);
    } else {
      for (const double p : probabilities) forecast.gap_quantiles.push_back(quantile(marginals, p).item());
    }
    const auto marks = scores.mark_probability.values<double>();
    forecast.mark_probability.assign(marks.begin(), marks.end());
    return forecast;
  });
}

std::vector<EventSequence> continue_events(const Model& model, const EventSequence& past, double horizon,
                                           std::int64_t paths, std::uint64_t seed, DType dtype) {
  return call_application({}, &model, [&] {
    EventSequence start = past;
    start.end = past.times.empty() ? 0 : past.times.back();
    const double silence = silence_of(past), last = start.end, end = last + silence + horizon;
    std::vector<EventSequence> all;
    for (std::int64_t first = 0; first < paths; first += kPathsTogether) {
      std::vector<EventSequence> some(static_cast<std::size_t>(std::min(kPathsTogether, paths - first)), start);
      Draws draws = Draws(seed, Purpose::prediction, 0).from(first);
      if (silence > 0) extend_after_silence(model, some, silence, draws, dtype);
      while (std::ranges::any_of(some, [end](const EventSequence& path) { return path.end <= end; })) {
        if (some.front().events() > past.events() + 1) check_reach(some, paths, past.events(), last, end);
        extend(model, some, draws, dtype);
      }
      for (const EventSequence& path : some) all.push_back(behind(path, past.events(), end));
    }
    return all;
  });
}

std::vector<double> model_intensities(const Model& model, const EventSequence& s, std::span<const double> times,
                                      DType dtype) {
  return call_application({}, &model, [&] {
    check(s.events() > 0, "[events] an empty sequence found, expected at least one event");
    // An end after all times, so that times after the last event have a target too.
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
      for (std::size_t k = 0; k < of_targets[i].size(); ++k)
        elapsed[i * most + k] = times[of_targets[i][k]] - s.times[i];

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
  });
}

std::vector<double> event_log_likelihoods(const Model& model, const EventSequence& s, DType dtype) {
  return call_application({}, &model, [&] {
    check(s.events() > 0, "[events] an empty sequence found, expected at least one event");
    std::vector<double> all(static_cast<std::size_t>(s.events()), std::numeric_limits<double>::quiet_NaN());
    if (s.events() == 1) return all;
    const Task task = event_task({{&s, 0, s.events()}}, {.context = 1, .ragged = false},
                                 {.dtype = dtype, .device = default_device()});
    Draws draws(0, Purpose::prediction, 0);
    const auto state = model.condition({task.xc, task.yc, {}}, draws, 1);
    const auto prediction = model.query(*state, task.xt);
    const EventScores scores = as_events(*prediction).score(task.yt);
    const auto time = scores.time.values<double>(), mark = scores.mark.values<double>();
    for (std::size_t i = 1; i < all.size(); ++i) all[i] = time[i - 1] + mark[i - 1];
    return all;
  });
}

}  // namespace npzoo
