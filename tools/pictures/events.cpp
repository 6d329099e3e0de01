#include "tools/pictures/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/models/applications/events/event_forecast.h"

namespace npzoo::tools {

namespace {

constexpr std::int64_t kMostNamedMarks = 6;
constexpr std::int64_t kMoments = 400;  // of a curve, besides those of its jumps

/// Ascending: a regular grid, every event, and the moment behind it.
std::vector<double> moments_of(const EventSequence& s, const Interval& range) {
  std::vector<double> times = regular_grid(range, kMoments);
  for (const double time : s.times)
    times.insert(times.end(), {time, std::nextafter(time, std::numeric_limits<double>::max())});
  std::ranges::sort(times);
  return times;
}

/// (times, M) → (times).
std::vector<double> of_all_marks(const std::vector<double>& intensities, std::size_t times) {
  const std::size_t marks = intensities.size() / times;
  std::vector<double> all(times);
  for (std::size_t i = 0; i < intensities.size(); ++i) all[i / marks] += intensities[i];
  return all;
}

void add_event_markers(const EventSequence& s, std::int64_t marks, plot::Panel& panel) {
  for (std::int64_t k = 0; k < marks; ++k) {
    plot::Markers markers{.x = {}, .y = {}, .color = plot::palette(static_cast<int>(k) + 3)};
    for (std::size_t i = 0; i < s.times.size(); ++i)
      if (s.marks[i] == k) markers.x.push_back(s.times[i]);
    markers.y.assign(markers.x.size(), 0);
    if (marks > 1 && marks <= kMostNamedMarks) markers.label = fmt::format("mark {}", k);
    if (!markers.x.empty()) panel.layers.emplace_back(std::move(markers));
  }
}

}  // namespace

plot::Figure draw_events(const TaskPicture& picture, const std::vector<Shown>& models, const EventTasks& data) {
  plot::Figure figure{.panel_width = 520};
  for (const EventSequence& s : data.shown(picture.tasks, picture.seed)) {
    check(s.events() > 0, "[plot] a sequence without events found, expected another --seed");
    // A piece of a long sequence is shown from its first event on.
    const Interval range{s.times.front() > s.end / 2 ? s.times.front() : 0, s.end};
    const std::vector<double> times = moments_of(s, range);
    plot::Panel panel{.x_label = "time", .y_label = "intensity"};
    if (data.process())
      panel.layers.emplace_back(plot::Line{.x = times,
                                           .y = of_all_marks(data.process()->intensities(s, times), times.size()),
                                           .color = plot::palette(2),
                                           .dashed = true,
                                           .label = "true " + data.process()->name() + " process"});
    for (std::size_t m = 0; m < models.size(); ++m)
      panel.layers.emplace_back(
          plot::Line{.x = times,
                     .y = of_all_marks(model_intensities(*models[m].model, s, times), times.size()),
                     .color = plot::palette(m < 2 ? static_cast<int>(m) : static_cast<int>(m) + 1),
                     .label = models[m].name});
    add_event_markers(s, data.marks(), panel);
    panel.x_range = plot::Range{range.low, range.high};
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

}  // namespace npzoo::tools
