#include "npzoo/models/applications/forecasts/forecaster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/sorted_quantile.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/applications/application_call.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// A series, and paths behind its last known place, drawn one window after the other.
class ForecastPaths {
 public:
  ForecastPaths(const TimeSeries& series, const WindowRules& rules, const SeriesScale& scale)
      : series_(series), rules_(rules), scale_(scale) {
    origin_ = series.size();
    while (origin_ > 0 && !series.known[static_cast<std::size_t>(origin_ - 1)]) --origin_;
  }

  std::int64_t origin() const { return origin_; }
  /// Returns the times of places; they may lie before the series or behind it.
  double time(std::int64_t place) const { return series_.time_at(place); }
  /// Known ones among the context of a window whose horizon begins `ahead` places behind the origin.
  std::vector<std::int64_t> context(std::int64_t ahead) const {
    std::vector<std::int64_t> places;
    const std::int64_t end = origin_ + ahead;
    for (std::int64_t place = std::max<std::int64_t>(end - rules_.context, 0); place < end; ++place)
      if (place >= origin_ || series_.known[static_cast<std::size_t>(place)]) places.push_back(place);
    return places;
  }
  /// Inputs of all places of that window.
  std::vector<double> inputs(std::int64_t ahead) const {
    std::vector<double> times;
    for (std::int64_t i = 0; i < rules_.length(); ++i) times.push_back(time(origin_ + ahead - rules_.context + i));
    return window_inputs(rules_, series_.time_form, times, series_.step);
  }
  /// Returns the known values (n, Dy) of context places along a path, standardised. `drawn` (paths, places so far, Dy).
  double value(std::int64_t place, std::int64_t c, std::int64_t path,
               const std::vector<std::vector<double>>& drawn) const {
    if (place >= origin_)
      return drawn[static_cast<std::size_t>(path)][static_cast<std::size_t>((place - origin_) * series_.dim_y + c)];
    const auto channel = static_cast<std::size_t>(c);
    return (series_.y[static_cast<std::size_t>(place * series_.dim_y + c)] - scale_.mean[channel]) /
           scale_.std[channel];
  }

 private:
  const TimeSeries& series_;
  const WindowRules& rules_;
  const SeriesScale& scale_;
  std::int64_t origin_ = 0;
};

/// Some paths: [first, first + count).
struct PathRange {
  std::int64_t first = 0, count = 1;
};

/// The context and the targets of a window, alike for all paths but for the values that they have drawn.
Task window_task(const ForecastPaths& paths, const WindowRules& rules, std::int64_t ahead, const PathRange& some,
                 std::int64_t dim_y, const std::vector<std::vector<double>>& drawn) {
  const std::int64_t rows = some.count, count = rules.horizon;
  const std::vector<std::int64_t> known = paths.context(ahead);
  const std::vector<double> x = paths.inputs(ahead);
  const std::int64_t dim_x = rules.dim_x();
  std::vector<double> xc, yc;
  for (std::int64_t row = 0; row < rows; ++row)
    for (const std::int64_t place : known) {
      const std::int64_t i = place - (paths.origin() + ahead - rules.context);
      xc.insert(xc.end(), x.begin() + i * dim_x, x.begin() + (i + 1) * dim_x);
      for (std::int64_t c = 0; c < dim_y; ++c) yc.push_back(paths.value(place, c, some.first + row, drawn));
    }
  const std::span<const double> targets =
      std::span(x).subspan(static_cast<std::size_t>(rules.context * dim_x), static_cast<std::size_t>(count * dim_x));
  const auto points = [](std::int64_t row_count, std::int64_t width, std::span<const double> values) {
    const std::int64_t each = std::ssize(values) / (row_count * width);
    return Tensor::from<double>({row_count, each, width}, values).to(DType::float32).to(default_device());
  };
  return {points(rows, dim_x, xc),
          points(rows, dim_y, yc),
          broadcast_to(points(1, dim_x, targets), {rows, count, dim_x}),
          {}};
}

/// In the units of the model, row-major as in SeriesForecast.
struct ForecastSaid {
  std::vector<double> mean{}, std{};             // (H, Dy)
  std::vector<std::vector<double>> quantiles{};  // of each probability (H, Dy)
  std::vector<std::vector<double>> paths{};      // of each (H, Dy)
  std::vector<double> truth{};                   // (H, Dy), NaN where unknown; empty: all are
  std::vector<double> crps{}, central_mass{};    // of the truth
};

std::vector<double> in_model_units(std::span<const double> values, const SeriesScale& scale) {
  const std::size_t channels = scale.mean.size();
  std::vector<double> y;
  for (std::size_t i = 0; i < values.size(); ++i)
    y.push_back((values[i] - scale.mean[i % channels]) / scale.std[i % channels]);
  return y;
}

/// The CRPS and the probability of the smallest central interval of an ascending sample of the predicted values.
std::pair<double, double> score_sample(const std::vector<double>& sorted, double y) {
  const auto count = static_cast<double>(sorted.size());
  double distance = 0, spread = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    distance += std::abs(sorted[i] - y);
    spread += (2 * static_cast<double>(i) + 1 - count) * sorted[i];  // half of all distances between two
  }
  const auto below = static_cast<double>(std::ranges::lower_bound(sorted, y) - sorted.begin());
  return {distance / count - spread / (count * count), std::abs(2 * below / count - 1)};
}

/// Puts `steps` steps of samples (n, B, Nt, Dy) behind the paths from `first` on.
void append_paths(const Tensor& samples, std::int64_t first, std::int64_t steps,
                  std::vector<std::vector<double>>& paths) {
  const std::int64_t all = samples.dim(0) * samples.dim(1), width = samples.dim(2) * samples.dim(3);
  paths.resize(std::max(paths.size(), static_cast<std::size_t>(first + all)));
  for (std::int64_t i = 0; i < all; ++i) {
    std::vector<double>& path = paths[static_cast<std::size_t>(first + i)];
    const double* from = samples.data<double>() + i * width;
    path.insert(path.end(), from, from + steps * samples.dim(3));
  }
}

/// Adds moments and quantiles of the paths where the first window, which has its own, ends.
void summarise(const std::vector<double>& quantiles, ForecastSaid& said) {
  for (std::size_t i = said.mean.size(); i < said.paths[0].size(); ++i) {
    RunningMean mean;
    std::vector<double> values;
    double squares = 0;
    for (const auto& path : said.paths) {
      mean.add(path[i]);
      values.push_back(path[i]);
    }
    for (const double value : values) squares += std::pow(value - mean.estimate().value, 2);
    said.mean.push_back(mean.estimate().value);
    said.std.push_back(std::sqrt(squares / static_cast<double>(values.size())));
    std::ranges::sort(values);
    for (std::size_t q = 0; q < quantiles.size(); ++q)
      said.quantiles[q].push_back(sorted_quantile(values, quantiles[q]));
    if (said.truth.empty()) continue;
    const auto [crps, central_mass] = score_sample(values, said.truth[i]);
    said.crps.push_back(crps);
    said.central_mass.push_back(central_mass);
  }
}

/// Brings it to the units of the table.
void in_units(const ForecastSaid& said, const SeriesScale& scale, SeriesForecast& result) {
  const std::size_t channels = scale.mean.size();
  for (std::size_t i = 0; i < said.mean.size(); ++i) {
    const double shift = scale.mean[i % channels], unit = scale.std[i % channels];
    result.mean.push_back(shift + unit * said.mean[i]);
    result.std.push_back(unit * said.std[i]);
    for (const auto& quantile : said.quantiles) result.quantiles.push_back(shift + unit * quantile[i]);
    for (const auto& path : said.paths) result.samples.push_back(shift + unit * path[i]);
    if (said.truth.empty()) continue;
    const bool known = !std::isnan(said.truth[i]);
    result.crps.push_back(known ? unit * said.crps[i] : said.truth[i]);
    result.central_mass.push_back(known ? said.central_mass[i] : said.truth[i]);
  }
}

/// The first `steps` steps of (1, Nt, Dy).
std::vector<double> leading(const Tensor& x, std::int64_t steps) {
  const auto values = x.values<double>().first(static_cast<std::size_t>(steps * x.dim(2)));
  return {values.begin(), values.end()};
}

/// Puts the model's own prediction of the first window into the answer.
void describe_window(const Prediction& prediction, const std::vector<double>& quantiles, std::int64_t steps,
                     ForecastSaid& said) {
  const Marginals marginals = on_host(prediction.marginals());
  const Moments m = moments(marginals);
  said.mean = leading(m.mean, steps);
  said.std = leading(m.std, steps);
  for (const double p : quantiles) said.quantiles.push_back(leading(quantile(marginals, p), steps));
  if (said.truth.empty()) return;
  Tensor y = Tensor::zeros(m.mean.shape(), DType::float64, Device::cpu);
  for (std::size_t i = 0; i < said.mean.size(); ++i)
    if (!std::isnan(said.truth[i])) y.values<double>()[i] = said.truth[i];
  said.crps = leading(crps(marginals, y), steps);
  said.central_mass = leading(central_mass(marginals, y), steps);
}

void check_sizes(std::int64_t horizon, std::int64_t count, std::int64_t dim_y) {
  const std::int64_t all = horizon * count * dim_y;
  check(all <= Forecaster::kMostSampledValues,
        "[forecast] {} paths of {} steps of {} columns found, which are {} values, expected at most {}", count, horizon,
        dim_y, all, Forecaster::kMostSampledValues);
}

void check_finite(const SeriesForecast& result, const TimeSeries& series, const SeriesScale& scale) {
  for (const auto* figures : {&result.mean, &result.std, &result.quantiles, &result.samples})
    for (const double x : *figures)
      if (!std::isfinite(x)) {
        double largest = 0;
        for (const double y : series.y) largest = std::max(largest, std::isnan(y) ? 0 : std::abs(y));
        fail(
            "[forecast] the forecast is {}, expected a finite number: values as large as {:.3g} are too large for a "
            "model that was trained on values of size {:.3g}",
            std::isnan(x) ? "no number" : "infinite", largest, std::abs(scale.mean[0]) + scale.std[0]);
      }
}

void check_dates(const SeriesForecast& result, const TimeSeries& series) {
  constexpr double kLastDay = 2'932'896;  // 9999-12-31, days since 1970-01-01
  if (series.time_form.kind != ColumnForm::Kind::time) return;
  check(static_cast<double>(series.time_form.epoch) + result.time.back() < kLastDay + 1,
        "[forecast] the horizon ends after the year 9999, expected a nearer one");
}

}  // namespace

Forecaster::Forecaster(const Model& model, WindowRules rules, SeriesScale scale)
    : model_(model), rules_(std::move(rules)), scale_(std::move(scale)) {}

SeriesForecast Forecaster::forecast(const TimeSeries& series, const ForecastOptions& options) const {
  return call_application(options.stop, &model_, [&] {
    const NoGrad off;
    const ForecastPaths paths(series, rules_, scale_);
    check_calendar(rules_, series);
    const auto known = std::ssize(paths.context(0));
    check(known >= WindowRules::kLeastContext, "[forecast] {} known points found in the last {}, expected {} or more",
          known, rules_.context, WindowRules::kLeastContext);
    SeriesForecast result{.first_context = std::max<std::int64_t>(paths.origin() - rules_.context, 0),
                          .context_points = known};
    const std::int64_t horizon = options.horizon > 0 ? options.horizon : rules_.horizon;
    for (std::int64_t h = 0; h < horizon; ++h) result.time.push_back(paths.time(paths.origin() + h));
    check_dates(result, series);
    const bool at_once = horizon <= rules_.horizon;
    // As many paths for a short horizon as for a long one, so that the paths shown are the same.
    const std::int64_t count = at_once && options.samples == 0 ? 0 : std::max(options.samples, kLeastPaths);
    check_sizes(horizon, count, series.dim_y);
    ForecastSaid said{.truth = in_model_units(options.truth, scale_)};
    check(said.truth.empty() || std::ssize(said.truth) == horizon * series.dim_y,
          "[forecast] {} values of truth found, expected {}, {} for each of {} steps", said.truth.size(),
          horizon * series.dim_y, series.dim_y, horizon);
    for (std::int64_t ahead = 0; ahead < horizon; ahead += rules_.horizon) {
      const std::int64_t rows = ahead == 0 ? 1 : count, steps = std::min(rules_.horizon, horizon - ahead);
      const Draws all(options.seed.value_or(0), Purpose::prediction, static_cast<std::uint64_t>(ahead));
      const std::size_t before = said.paths.empty() ? 0 : said.paths[0].size();
      std::vector<std::vector<double>> more;
      for (std::int64_t first = 0; first < rows; first += kPathsTogether) {
        const PathRange some{first, std::min(kPathsTogether, rows - first)};
        if (options.progress)
          options.progress(ahead * count + first * steps, horizon * std::max<std::int64_t>(count, 1));
        throw_if_stopped();
        Draws draws = all.from(first);
        const Task task = window_task(paths, rules_, ahead, some, series.dim_y, said.paths);
        const WindowForecast window = forecast_windows(model_, {task.xc, task.yc}, task.xt, draws);
        if (ahead == 0) {
          describe_window(*window.prediction, options.quantiles, steps, said);
          result.how = how(window, at_once, count);
        }
        if (count > 0) append_paths(window.prediction->sample(ahead == 0 ? count : 1, draws), first, steps, more);
      }
      said.paths.resize(more.size());
      for (std::size_t i = 0; i < more.size(); ++i)
        said.paths[i].insert(said.paths[i].begin() + static_cast<std::ptrdiff_t>(before), more[i].begin(),
                             more[i].end());
    }
    if (!at_once) summarise(options.quantiles, said);
    said.paths.resize(static_cast<std::size_t>(options.samples));
    in_units(said, scale_, result);
    check_finite(result, series, scale_);
    return result;
  });
}

std::string Forecaster::how(const WindowForecast& window, bool at_once, std::int64_t count) const {
  const std::string first = fmt::format("{}, {}", window.mode(), window.prediction->forms().marginal);
  if (at_once) return first;
  return fmt::format("{}; from step {} on free-running, {} paths of windows of {}{}", first, rules_.horizon + 1, count,
                     rules_.horizon, window.sequence ? "" : ", each at one shot");
}

}  // namespace npzoo
