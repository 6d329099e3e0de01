#include "npzoo/models/applications/forecasts/forecast_comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "npzoo/datasets/series/baselines.h"
#include "npzoo/datasets/series/series_tasks.h"
#include "npzoo/datasets/series/smoothing.h"
#include "npzoo/engine/error.h"
#include "npzoo/models/applications/application_call.h"
#include "npzoo/models/applications/forecasts/forecaster.h"
#include "npzoo/models/applications/forecasts/series_ends.h"
#include "npzoo/models/applications/tables/fill.h"

namespace npzoo {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Windows that the training has not seen, and the series that they are cut from.
class ComparedWindows {
 public:
  ComparedWindows(const SeriesTasks& tasks, bool validation_chose, std::int64_t most)
      : data_(tasks.series()), rules_(tasks.rules()) {
    std::vector<Split> unseen{Split::evaluation};
    if (!validation_chose) unseen.insert(unseen.begin(), Split::validation);
    std::vector<std::int64_t> all;
    for (const Split part : unseen)
      for (const std::int64_t start : window_starts(*data_, rules_, part))
        if (series().known[static_cast<std::size_t>(start + rules_.context - 1)]) all.push_back(start + rules_.context);
    const std::int64_t count = std::min<std::int64_t>(std::ssize(all), most);
    for (std::int64_t i = 0; i < count; ++i)
      origins_.push_back(all[static_cast<std::size_t>(count > 1 ? i * (std::ssize(all) - 1) / (count - 1) : 0)]);
    season_ = season_of(series());
    for (std::int64_t c = 0; c < series().dim_y; ++c) units_.push_back(unit(c));
  }

  const TimeSeries& series() const { return data_->series; }
  const SeriesScale& scale() const { return data_->scale; }
  /// First places of the horizons.
  const std::vector<std::int64_t>& origins() const { return origins_; }
  std::int64_t season() const { return season_; }
  /// The number of windows whose horizons do not overlap.
  std::int64_t separate() const {
    std::int64_t count = 0, free_from = 0;
    for (const std::int64_t origin : origins_) {
      if (origin < free_from) continue;
      ++count;
      free_from = origin + rules_.horizon;
    }
    return count;
  }

  double value(std::int64_t place, std::int64_t c) const {
    const bool known = series().known[static_cast<std::size_t>(place)];
    return known ? series().y[static_cast<std::size_t>(place * series().dim_y + c)] : kNan;
  }
  std::vector<double> values(std::int64_t begin, std::int64_t end, std::int64_t c) const {
    std::vector<double> y;
    for (std::int64_t place = begin; place < end; ++place) y.push_back(value(place, c));
    return y;
  }
  std::vector<double> truth(std::int64_t origin, std::int64_t c) const {
    return values(origin, origin + rules_.horizon, c);
  }
  /// Adds a forecast of a horizon, in means over windows and columns.
  void add(const GaussianPath& path, std::int64_t origin, std::int64_t c, ForecastWayScore& score) const {
    const std::vector<double> y = truth(origin, c);
    double errors = 0, count = 0;
    for (std::size_t h = 0; h < y.size(); ++h) {
      if (std::isnan(y[h])) continue;
      errors += std::abs(y[h] - path.mean[h]);
      ++count;
    }
    const double share =
        1 / (units_[static_cast<std::size_t>(c)] * static_cast<double>(std::ssize(origins_) * series().dim_y));
    score.mase += share * errors / count;
    const double value = crps(EndPath{path}, y) / units_[static_cast<std::size_t>(c)];
    score.crps += value / static_cast<double>(std::ssize(origins_) * series().dim_y);
    if (c == 0) score.window_crps.push_back(0);
    score.window_crps.back() += value / static_cast<double>(series().dim_y);
  }

 private:
  double unit(std::int64_t c) const {
    double sum = 0, count = 0;
    for (std::int64_t place = season_; place < data_->part(Split::training).end; ++place) {
      const double error = std::abs(value(place, c) - value(place - season_, c));
      if (std::isnan(error)) continue;
      sum += error;
      ++count;
    }
    return sum > 0 ? sum / count : scale().std[static_cast<std::size_t>(c)];
  }

  std::shared_ptr<const ForecastSeries> data_;
  const WindowRules& rules_;
  std::vector<std::int64_t> origins_;
  std::int64_t season_ = 1;
  std::vector<double> units_;  // of each column
};

ForecastWayScore score_trained(const TrainedModel& trained, const WindowRules& rules, const ComparedWindows& windows,
                               const ComparisonOptions& options) {
  ForecastWayScore score{.way = ForecastWay::trained};
  const Forecaster forecaster(*trained.model, rules, windows.scale());
  const std::int64_t width = windows.series().dim_y;
  for (const std::int64_t origin : windows.origins()) {
    TimeSeries past = windows.series();
    past.time.resize(static_cast<std::size_t>(origin));
    past.known.resize(static_cast<std::size_t>(origin));
    past.y.resize(static_cast<std::size_t>(origin * width));
    const SeriesForecast f = forecaster.forecast(past, {.seed = trained.checkpoint.run.seed, .stop = options.stop});
    for (std::int64_t c = 0; c < width; ++c) {
      GaussianPath path;
      for (std::int64_t h = 0; h < rules.horizon; ++h) {
        path.mean.push_back(f.mean[static_cast<std::size_t>(h * width + c)]);
        path.std.push_back(f.std[static_cast<std::size_t>(h * width + c)]);
      }
      windows.add(path, origin, c, score);
    }
  }
  return score;
}

/// Each window is a group of one table.
ForecastWayScore score_untrained(const WindowRules& rules, const ComparedWindows& windows,
                                 const ComparisonOptions& options) {
  constexpr std::int64_t kMostRead = 2000;  // places: `fill` forecasts from the last ones
  const std::int64_t width = windows.series().dim_y;
  std::vector<double> x, targets;
  std::vector<std::vector<double>> y(static_cast<std::size_t>(width));
  std::vector<std::uint32_t> groups, target_groups;
  std::uint32_t group = 0;
  for (const std::int64_t origin : windows.origins()) {
    for (std::int64_t place = std::max<std::int64_t>(0, origin - kMostRead); place < origin; ++place) {
      x.push_back(windows.series().time[static_cast<std::size_t>(place)]);
      groups.push_back(group);
      for (std::int64_t c = 0; c < width; ++c) y[static_cast<std::size_t>(c)].push_back(windows.value(place, c));
    }
    for (std::int64_t h = 0; h < rules.horizon; ++h) {
      targets.push_back(windows.series().time[static_cast<std::size_t>(origin + h)]);
      target_groups.push_back(group);
    }
    ++group;
  }
  const FillData data{.x = x,
                      .values = {y.begin(), y.end()},
                      .groups = groups,
                      .targets = targets,
                      .target_groups = target_groups,
                      .x_forms = {windows.series().time_form}};
  const FillResult filled = fill("", data, {.stop = options.stop});
  ForecastWayScore score{.way = ForecastWay::untrained};
  for (std::size_t g = 0; g < windows.origins().size(); ++g)
    for (std::int64_t c = 0; c < width; ++c) {
      const PredictedColumn& column = filled.columns[static_cast<std::size_t>(c)];
      const auto of_window = [&](const std::vector<double>& figures) {
        const auto first = figures.begin() + static_cast<std::ptrdiff_t>(g) * rules.horizon;
        return std::vector<double>(first, first + rules.horizon);
      };
      windows.add({of_window(column.mean), of_window(column.std)}, windows.origins()[g], c, score);
    }
  return score;
}

ForecastWayScore score_naive(const WindowRules& rules, const ComparedWindows& windows) {
  ForecastWayScore score{.way = ForecastWay::seasonal_naive};
  for (const std::int64_t origin : windows.origins())
    for (std::int64_t c = 0; c < windows.series().dim_y; ++c)
      windows.add(seasonal_naive_path(windows.values(0, origin, c), rules.horizon, windows.season()), origin, c, score);
  return score;
}

}  // namespace

ForecastWay ForecastComparison::best() const {
  constexpr double kErrors = 2;
  check(!scores.empty(), "[forecast] a comparison without windows found, expected one or more");
  const ForecastWayScore& usual = scores[static_cast<std::size_t>(ForecastWay::untrained)];
  const ForecastWayScore* best = &usual;
  for (const ForecastWayScore& other : scores) {
    double squares = 0;
    for (std::size_t i = 0; i < usual.window_crps.size(); ++i)
      squares += std::pow(usual.window_crps[i] - other.window_crps[i] - (usual.crps - other.crps), 2);
    const double error = std::sqrt(squares / static_cast<double>(windows * (separate - 1)));  // infinite or NaN for one
    if (usual.crps - other.crps > kErrors * error && other.crps < best->crps) best = &other;
  }
  return best->way;
}

ForecastComparison compare_forecasts(const TrainedModel& trained, const ComparisonOptions& options) {
  return call_application(options.stop, trained.model.get(), [&] {
    const SeriesTasks* tasks = trained.checkpoint.run.protocol.data->as_series();
    check(tasks != nullptr, "[forecast] weights that were not trained to forecast found, expected such weights");
    const ComparedWindows windows(*tasks, trained.checkpoint.run.protocol.training.keep_best, options.windows);
    ForecastComparison result{.windows = std::ssize(windows.origins()), .separate = windows.separate()};
    if (result.windows == 0) return result;
    const WindowRules& rules = tasks->rules();
    result.scores = {score_trained(trained, rules, windows, options), score_untrained(rules, windows, options),
                     score_naive(rules, windows)};
    return result;
  });
}

}  // namespace npzoo
