#include "npzoo/datasets/series/windows.h"

#include <algorithm>

#include "npzoo/datasets/permutation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"

namespace npzoo {

namespace {

/// One side of the tasks of a batch, padded by zeros.
class PaddedPoints {
 public:
  PaddedPoints(std::int64_t rows, std::int64_t points, std::int64_t dim_x, std::int64_t dim_y)
      : x_(Tensor::zeros({rows, points, dim_x}, DType::float64, Device::cpu)),
        y_(Tensor::zeros({rows, points, dim_y}, DType::float64, Device::cpu)),
        lengths_(Tensor::zeros({rows}, DType::int64, Device::cpu)) {}

  void add(std::int64_t row, std::span<const double> x, const ForecastSeries& series, std::int64_t place) {
    const std::int64_t point = row * x_.dim(1) + lengths_.data<std::int64_t>()[row]++;
    std::ranges::copy(x, x_.data<double>() + point * x_.dim(2));
    for (std::int64_t c = 0; c < y_.dim(2); ++c)
      y_.data<double>()[point * y_.dim(2) + c] = series.standardised(place, c);
  }
  Tensor x(DType dtype) const { return x_.to(dtype); }
  Tensor y(DType dtype) const { return y_.to(dtype); }
  const Tensor& lengths() const { return lengths_; }
  /// 1 for points, 0 for padding: (B, N).
  Tensor weights(DType dtype) const {
    Tensor weights = Tensor::zeros({x_.dim(0), x_.dim(1)}, DType::float64, Device::cpu);
    for (std::int64_t row = 0; row < x_.dim(0); ++row)
      std::fill_n(weights.data<double>() + row * x_.dim(1), lengths_.data<std::int64_t>()[row], 1.0);
    return weights.to(dtype);
  }

 private:
  Tensor x_, y_, lengths_;
};

}  // namespace

void check_calendar(const WindowRules& rules, const TimeSeries& series) {
  check(rules.calendar.empty() || series.time_form.kind == ColumnForm::Kind::time,
        "[forecast] times that are numbers found, expected dates for calendar features");
}

std::vector<std::int64_t> window_starts(const ForecastSeries& series, const WindowRules& rules, Split split) {
  const SeriesPart& part = series.part(split);
  const bool training = split == Split::training;
  std::vector<std::int64_t> known{0};  // places before each
  for (const bool is_known : series.series.known) known.push_back(known.back() + (is_known ? 1 : 0));
  const auto known_from = [&known](std::int64_t begin, std::int64_t count) {
    return known[static_cast<std::size_t>(begin + count)] - known[static_cast<std::size_t>(begin)];
  };
  std::vector<std::int64_t> starts;
  const std::int64_t reach = training || !rules.context_before ? 0 : std::min(rules.context, part.begin);
  for (std::int64_t at = part.begin - reach; at + rules.length() <= part.end; at += training ? 1 : rules.stride)
    if (known_from(at, rules.context) >= WindowRules::kLeastContext &&
        known_from(at + rules.context, rules.horizon) > 0)
      starts.push_back(at);
  return starts;
}

std::vector<double> window_inputs(const WindowRules& rules, const ColumnForm& time_form, std::span<const double> times,
                                  double step) {
  const auto last = static_cast<double>(rules.length() - 1);
  const double unit = 2 / last;
  std::vector<double> x;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double place = rules.true_times ? (times[i] - times[0]) / step : static_cast<double>(i);
    x.push_back(place == last ? 1 : -1 + unit * place);
    for (const CalendarFeature* feature : rules.calendar)
      x.push_back(feature->at(static_cast<double>(time_form.epoch) + times[i]));
  }
  return x;
}

ForecastSource::ForecastSource(std::shared_ptr<const ForecastSeries> series, const WindowRules& rules,
                               const SourceOptions& options)
    : series_(std::move(series)), rules_(rules), options_(options) {
  check(options.batch_size > 0, "[forecast] batch size {}, expected at least 1", options.batch_size);
  check_calendar(rules_, series_->series);
  starts_ = window_starts(*series_, rules_, options.split);
  check(!starts_.empty(), "[forecast] a part of {} points found, expected a window of {} + {} known points",
        series_->part(options.split).size(), rules.context, rules.horizon);
}

std::optional<std::int64_t> ForecastSource::size() const {
  if (options_.split == Split::training) return {};
  return (std::ssize(starts_) + options_.batch_size - 1) / options_.batch_size;
}

std::vector<std::int64_t> ForecastSource::starts_of(std::uint64_t index) const {
  const std::int64_t count = std::ssize(starts_);
  std::vector<std::int64_t> items;
  if (options_.split == Split::training) {
    Random random(options_.seed, static_cast<std::uint64_t>(options_.split) << 56 | index);
    for (std::int64_t i = 0; i < options_.batch_size; ++i) items.push_back(random.integer(0, count));
  } else if (options_.split == Split::validation) {
    items = items_of_batch(count, options_.batch_size, options_.seed, index);
  } else {
    const std::int64_t first = static_cast<std::int64_t>(index) * options_.batch_size;
    check(first < count, "[forecast] batch {} found, expected one of the {} batches", index, *size());
    for (std::int64_t i = first; i < std::min(first + options_.batch_size, count); ++i) items.push_back(i);
  }
  for (std::int64_t& item : items) item = starts_[static_cast<std::size_t>(item)];
  return items;
}

Batch ForecastSource::batch(std::uint64_t index) const {
  const std::vector<std::int64_t> starts = starts_of(index);
  const TimeSeries& series = series_->series;
  const std::int64_t rows = std::ssize(starts), dim_x = rules_.dim_x();
  PaddedPoints context(rows, rules_.context, dim_x, series.dim_y), targets(rows, rules_.horizon, dim_x, series.dim_y);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t start = starts[static_cast<std::size_t>(row)];
    const std::vector<double> x = window_inputs(
        rules_, series.time_form,
        std::span(series.time).subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(rules_.length())),
        series.step);
    for (std::int64_t i = 0; i < rules_.length(); ++i)
      if (series.known[static_cast<std::size_t>(start + i)])
        (i < rules_.context ? context : targets)
            .add(row, std::span(x).subspan(static_cast<std::size_t>(i * dim_x), static_cast<std::size_t>(dim_x)),
                 *series_, start + i);
  }
  const DType dtype = options_.dtype;
  Task task{context.x(dtype), context.y(dtype), targets.x(dtype), targets.y(dtype)};
  if (series_->gaps) {
    task.lengths = context.lengths();
    task.target_lengths = targets.lengths();
    task.target_weights = targets.weights(dtype);
  }
  return {task.to(options_.device)};
}

}  // namespace npzoo
