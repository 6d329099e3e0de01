#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "npzoo/datasets/series/measurements.h"
#include "npzoo/datasets/series/series_calendar.h"
#include "npzoo/datasets/task_source.h"

namespace npzoo {

/// Consecutive places of a series, [begin, end).
struct SeriesPart {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const { return end - begin; }
};

/// Measurements in the order of time. If their times are steps (see place_on_calendar), a place is a step and a missing
/// row is a gap. Otherwise a place is a row, and `step` is the median distance of two.
struct TimeSeries {
  ColumnForm time_form;
  std::int64_t dim_y = 1;
  double step = 0;                           // days or, of times that are numbers, their unit; on average
  std::optional<SeriesCalendar> calendar{};  // none: places are rows
  std::int64_t partial = 0;                  // rows that have some of the values and not all: they count as unknown
  std::vector<double> time{};                // (places), ascending
  std::vector<double> y{};                   // (places, Dy), NaN where unknown
  std::vector<bool> known{};                 // (places): all channels are

  std::int64_t size() const { return std::ssize(time); }
  bool has_gaps() const;
  /// Returns the time of a place, also of one before the series or behind it.
  double time_at(std::int64_t place) const;
  /// Days since 1970-01-01.
  double date(std::int64_t place) const { return static_cast<double>(time_form.epoch) + time[place]; }
};

/// `name` opens messages. Throws Error for a time that two rows have, and for fewer than two rows.
TimeSeries order_by_time(Measurements measurements, std::int64_t dim_y, const std::string& name);

/// Returns one row for each time: the mean of the known values of all its rows.
Measurements average_equal_times(Measurements measurements, std::int64_t dim_y);

/// Shares of a series: the parts begin at whole numbers of places, rounded down, and the rest is for tests.
struct SplitByShares {
  double training = 0, validation = 0;
};
/// Numbers of places; what comes behind them is left out.
struct SplitByPlaces {
  std::int64_t training = 0, validation = 0, test = 0;
};
/// The first days of the latter parts, days since 1970-01-01.
struct SplitByDates {
  double validation = 0, test = 0;
};
/// How a series is divided in its order into parts for training, validation and test.
using SeriesSplit = std::variant<SplitByShares, SplitByPlaces, SplitByDates>;
/// Throws Error, opened by `name`, if one is empty.
std::array<SeriesPart, 3> parts_of(const TimeSeries& series, const SeriesSplit& split, const std::string& name);

/// Shift and scale that standardise the training part, for each channel.
struct SeriesScale {
  std::vector<double> mean, std;  // (Dy)
};
/// Computes the scale of the known values of a part. A channel that does not vary is only shifted.
SeriesScale scale_of(const TimeSeries& series, const SeriesPart& training);

}  // namespace npzoo
