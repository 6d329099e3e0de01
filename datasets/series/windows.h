#pragma once

#include <memory>
#include <span>

#include "npzoo/datasets/series/calendar.h"
#include "npzoo/datasets/series/time_series.h"
#include "npzoo/datasets/task_source.h"

namespace npzoo {

inline constexpr std::int64_t kMostPlaces = 4096;  // of a context, and of a horizon

/// How windows of a series become tasks.
struct WindowRules {
  static constexpr std::int64_t kLeastContext = 2;  // points of it that are known

  std::int64_t context = 0, horizon = 0;  // places
  std::int64_t stride = 1;                // between windows of a validation or test
  bool context_before = false;            // contexts of validation and test may reach back into the part before
  bool true_times = false;  // inputs say when points were measured, and not which of their window they are
  std::vector<const CalendarFeature*> calendar{};

  std::int64_t length() const { return context + horizon; }
  std::int64_t dim_x() const { return 1 + std::ssize(calendar); }
};

/// A series as tasks show it.
struct ForecastSeries {
  TimeSeries series;
  std::array<SeriesPart, 3> parts{};
  SeriesScale scale{};
  bool gaps = false;

  const SeriesPart& part(Split split) const { return parts[static_cast<std::size_t>(split) - 1]; }
  /// (channel c of place) in units of standard deviations.
  double standardised(std::int64_t place, std::int64_t c) const {
    const auto channel = static_cast<std::size_t>(c);
    return (series.y[static_cast<std::size_t>(place * series.dim_y + c)] - scale.mean[channel]) / scale.std[channel];
  }
};

/// Throws Error if there are calendar features, but the times of the series are no dates.
void check_calendar(const WindowRules& rules, const TimeSeries& series);

/// First places of the windows of a part, ascending: those with known points enough in the context, and one in the
/// horizon.
std::vector<std::int64_t> window_starts(const ForecastSeries& series, const WindowRules& rules, Split split);

/// The inputs (length, Dx) of a window's places. Column 0 is −1 … 1 in equal steps, or true times of which a window of
/// the typical step would fill −1 … 1; then come calendar features.
std::vector<double> window_inputs(const WindowRules& rules, const ColumnForm& time_form, std::span<const double> times,
                                  double step);

/// Tasks out of windows: in training any of them at random, in a validation or test each once, in the latter in their
/// order. The context comes first and then the horizon, both in the order of time. Of a series with gaps what is not
/// known is left out, and all tasks are padded to the extents of the window.
class ForecastSource final : public TaskSource {
 public:
  ForecastSource(std::shared_ptr<const ForecastSeries> series, const WindowRules& rules, const SourceOptions& options);

  Batch batch(std::uint64_t index) const override;
  std::optional<std::int64_t> size() const override;
  Device device() const override { return options_.device; }
  /// First places of the windows of a batch.
  std::vector<std::int64_t> starts_of(std::uint64_t index) const;

 private:
  std::shared_ptr<const ForecastSeries> series_;
  WindowRules rules_;
  SourceOptions options_;
  std::vector<std::int64_t> starts_;
};

}  // namespace npzoo
