#include "npzoo/datasets/series/following_times.h"

#include "npzoo/datasets/series/time_series.h"

namespace npzoo {

std::vector<double> following_times(std::span<const double> times, const ColumnForm& form, std::int64_t count) {
  Measurements m{.time_form = form, .time = {times.begin(), times.end()}, .y = {}};
  m.y.assign(times.size(), 0);
  const TimeSeries series = order_by_time(std::move(m), 1, "series");
  std::vector<double> next;
  for (std::int64_t i = 0; i < count; ++i) next.push_back(series.time_at(series.size() + i));
  return next;
}

}  // namespace npzoo
