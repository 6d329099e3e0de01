#include "npzoo/datasets/series/time_series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double median_step(const std::vector<double>& time) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < time.size(); ++i) steps.push_back(time[i] - time[i - 1]);
  const auto middle = steps.begin() + std::ssize(steps) / 2;
  std::ranges::nth_element(steps, middle);
  return *middle;
}

std::vector<std::int64_t> rows_by_time(const Measurements& m) {
  std::vector<std::int64_t> order(m.time.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&m](std::int64_t row) { return m.time[static_cast<std::size_t>(row)]; });
  return order;
}

}  // namespace

bool TimeSeries::has_gaps() const { return std::ranges::find(known, false) != known.end(); }

double TimeSeries::time_at(std::int64_t place) const {
  if (place >= 0 && place < size()) return time[static_cast<std::size_t>(place)];
  if (calendar) return calendar->time(place);
  const std::int64_t nearest = place < 0 ? 0 : size() - 1;
  return time[static_cast<std::size_t>(nearest)] + step * static_cast<double>(place - nearest);
}

Measurements average_equal_times(Measurements m, std::int64_t dim_y) {
  const auto width = static_cast<std::size_t>(dim_y);
  Measurements all{.time_form = std::move(m.time_form)};
  std::vector<double> counts;  // of known values, as all.y
  for (const std::int64_t row : rows_by_time(m)) {
    const auto at = static_cast<std::size_t>(row);
    if (all.time.empty() || all.time.back() != m.time[at]) {
      all.time.push_back(m.time[at]);
      all.y.insert(all.y.end(), width, 0);
      counts.insert(counts.end(), width, 0);
    }
    for (std::size_t c = 0; c < width; ++c) {
      const double value = m.y[at * width + c];
      if (std::isnan(value)) continue;
      double& count = counts[counts.size() - width + c];
      double& mean = all.y[all.y.size() - width + c];
      mean += (value - mean) / ++count;
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] == 0) all.y[i] = kNan;
  return all;
}

TimeSeries order_by_time(Measurements m, std::int64_t dim_y, const std::string& name) {
  const auto rows = std::ssize(m.time);
  check(rows >= 2, "[forecast] {}: {} rows with a time found, expected 2 or more", name, rows);
  const std::vector<std::int64_t> order = rows_by_time(m);
  std::vector<double> time;
  for (const std::int64_t row : order) time.push_back(m.time[static_cast<std::size_t>(row)]);
  const auto twice = std::ranges::adjacent_find(time);
  if (twice != time.end())
    fail("[forecast] {}: two rows of the time {} found, expected one", name, m.time_form.text(*twice));

  TimeSeries s{.time_form = m.time_form, .dim_y = dim_y, .step = median_step(time)};
  std::vector<std::int64_t> places(time.size());
  std::iota(places.begin(), places.end(), 0);
  if (std::optional<PlacedTimes> placed = place_on_calendar(time, m.time_form); placed && placed->moved == 0) {
    s.calendar = std::move(placed->calendar);
    s.step = s.calendar->mean_step();
    places = std::move(placed->places);
    for (std::int64_t place = 0; place <= places.back(); ++place) s.time.push_back(s.calendar->time(place));
  } else {
    s.time = time;
  }
  s.y.assign(static_cast<std::size_t>(s.size() * dim_y), kNan);
  s.known.assign(static_cast<std::size_t>(s.size()), false);
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto from = m.y.begin() + order[static_cast<std::size_t>(i)] * dim_y;
    const std::int64_t place = places[static_cast<std::size_t>(i)];
    std::copy_n(from, dim_y, s.y.begin() + place * dim_y);
    const auto unknown = std::count_if(from, from + dim_y, [](double v) { return std::isnan(v); });
    s.known[static_cast<std::size_t>(place)] = unknown == 0;
    s.partial += unknown > 0 && unknown < dim_y;
    s.time[static_cast<std::size_t>(place)] = time[static_cast<std::size_t>(i)];
  }
  return s;
}

std::array<SeriesPart, 3> parts_of(const TimeSeries& series, const SeriesSplit& split, const std::string& name) {
  const std::int64_t size = series.size();
  std::array<std::int64_t, 4> ends{0, 0, 0, size};
  if (const auto* shares = std::get_if<SplitByShares>(&split)) {
    constexpr double kRounding = 1e-9;
    const auto until = [size](double share) {
      return static_cast<std::int64_t>(std::floor(share * static_cast<double>(size) + kRounding));
    };
    ends[1] = until(shares->training);
    ends[2] = until(shares->training + shares->validation);
  } else if (const auto* places = std::get_if<SplitByPlaces>(&split)) {
    ends = {0, places->training, places->training + places->validation,
            places->training + places->validation + places->test};
  } else {
    const auto& dates = std::get<SplitByDates>(split);
    check(series.time_form.kind == ColumnForm::Kind::time, "[forecast] {}: its times are numbers, expected dates",
          name);
    const auto place_of = [&series](double date) {
      const double time = date - static_cast<double>(series.time_form.epoch);
      return std::ranges::lower_bound(series.time, time) - series.time.begin();
    };
    ends[1] = place_of(dates.validation);
    ends[2] = place_of(dates.test);
  }
  check(0 < ends[1] && ends[1] < ends[2] && ends[2] < ends[3] && ends[3] <= size,
        "[forecast] {}: parts of {}, {} and {} points found, expected at least one each of {} in all", name, ends[1],
        ends[2] - ends[1], ends[3] - ends[2], size);
  return {SeriesPart{ends[0], ends[1]}, SeriesPart{ends[1], ends[2]}, SeriesPart{ends[2], ends[3]}};
}

SeriesScale scale_of(const TimeSeries& series, const SeriesPart& training) {
  const std::int64_t dim_y = series.dim_y;
  SeriesScale scale{std::vector<double>(static_cast<std::size_t>(dim_y)), {}};
  scale.std = scale.mean;
  for (std::int64_t c = 0; c < dim_y; ++c) {
    double count = 0, mean = 0, squares = 0;
    for (std::int64_t place = training.begin; place < training.end; ++place) {
      const double value = series.y[static_cast<std::size_t>(place * dim_y + c)];
      if (std::isnan(value)) continue;
      const double distance = value - mean;
      mean += distance / ++count;
      squares += distance * (value - mean);
    }
    scale.mean[static_cast<std::size_t>(c)] = mean;
    scale.std[static_cast<std::size_t>(c)] = squares > 0 ? std::sqrt(squares / count) : 1;
  }
  return scale;
}

}  // namespace npzoo
