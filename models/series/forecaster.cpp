#include "models/series/forecaster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/tape.h"
#include "models/predictions/autoregressive.h"
#include "ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// A series, and what comes behind its last known place along paths that are drawn one window after the other.
class ForecastPaths {
 public:
  ForecastPaths(const TimeSeries& series, const WindowRules& rules, const SeriesScale& scale)
      : series_(series), rules_(rules), scale_(scale) {
    origin_ = series.size();
    while (origin_ > 0 && !series.known[static_cast<std::size_t>(origin_ - 1)]) --origin_;
  }

  std::int64_t origin() const { return origin_; }
  /// Of places before the series and behind it as well.
  double time(std::int64_t place) const {
    const std::int64_t last = series_.size() - 1, nearest = std::clamp<std::int64_t>(place, 0, last);
    return series_.time[static_cast<std::size_t>(nearest)] + series_.step * static_cast<double>(place - nearest);
  }
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
  /// What is known (n, Dy) of context places along a path, standardised. `drawn` (paths, places so far, Dy).
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

/// The context and the first `count` targets of a window, alike for all paths but for what they have drawn.
Task window_task(const ForecastPaths& paths, const WindowRules& rules, std::int64_t ahead, std::int64_t count,
                 std::int64_t rows, std::int64_t dim_y, const std::vector<std::vector<double>>& drawn) {
  const std::vector<std::int64_t> known = paths.context(ahead);
  const std::vector<double> x = paths.inputs(ahead);
  const std::int64_t dim_x = rules.dim_x();
  std::vector<double> xc, yc;
  for (std::int64_t row = 0; row < rows; ++row)
    for (const std::int64_t place : known) {
      const std::int64_t i = place - (paths.origin() + ahead - rules.context);
      xc.insert(xc.end(), x.begin() + i * dim_x, x.begin() + (i + 1) * dim_x);
      for (std::int64_t c = 0; c < dim_y; ++c) yc.push_back(paths.value(place, c, row, drawn));
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

/// Value number `p` of the way through sorted ones, between two of them in proportion.
double quantile_of(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// In the units of the model, row-major as in SeriesForecast.
struct ForecastSaid {
  std::vector<double> mean{}, std{};             // (H, Dy)
  std::vector<std::vector<double>> quantiles{};  // of each probability (H, Dy)
  std::vector<std::vector<double>> paths{};      // of each (H, Dy)
};

/// Samples (n, B, Nt, Dy), each of which goes on with a path.
void append_paths(const Tensor& samples, std::vector<std::vector<double>>& paths) {
  const std::int64_t all = samples.dim(0) * samples.dim(1), width = samples.dim(2) * samples.dim(3);
  paths.resize(static_cast<std::size_t>(all));
  for (std::int64_t i = 0; i < all; ++i)
    paths[static_cast<std::size_t>(i)].insert(paths[static_cast<std::size_t>(i)].end(),
                                              samples.data<double>() + i * width,
                                              samples.data<double>() + (i + 1) * width);
}

void summarise(const std::vector<double>& quantiles, ForecastSaid& said) {
  said.quantiles.resize(quantiles.size());
  for (std::size_t i = 0; i < said.paths[0].size(); ++i) {
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
    for (std::size_t q = 0; q < quantiles.size(); ++q) said.quantiles[q].push_back(quantile_of(values, quantiles[q]));
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
  }
}

std::vector<double> numbers(const Tensor& x) { return {x.values<double>().begin(), x.values<double>().end()}; }

/// One question to a model.
std::unique_ptr<Prediction> ask(const Model& model, const Task& task, Draws& draws,
                                std::unique_ptr<ContextState>& state) {
  state = model.condition({task.xc, task.yc}, draws, kSamples);
  return model.query(*state, task.xt);
}

}  // namespace

Forecaster::Forecaster(const Model& model, WindowRules rules, SeriesScale scale)
    : model_(model), rules_(std::move(rules)), scale_(std::move(scale)) {}

SeriesForecast Forecaster::forecast(const TimeSeries& series, const ForecastOptions& options) const {
  const NoGrad off;
  const ForecastPaths paths(series, rules_, scale_);
  check_calendar(rules_, series);
  const auto known = std::ssize(paths.context(0));
  check(known >= WindowRules::kLeastContext, "[forecast] {} known points found in the last {}, expected {} or more",
        known, rules_.context, WindowRules::kLeastContext);
  ForecastSaid said;
  SeriesForecast result{.first_context = std::max<std::int64_t>(paths.origin() - rules_.context, 0),
                        .context_points = known};
  const bool at_once = options.horizon <= rules_.horizon;
  const std::int64_t count = at_once ? options.samples : std::max(options.samples, kLeastPaths);
  for (std::int64_t ahead = 0; ahead < options.horizon; ahead += rules_.horizon) {
    const std::int64_t rows = ahead == 0 ? 1 : count, steps = std::min(rules_.horizon, options.horizon - ahead);
    Draws draws(options.seed, Purpose::prediction, static_cast<std::uint64_t>(ahead));
    std::unique_ptr<ContextState> state;
    const auto prediction =
        ask(model_, window_task(paths, rules_, ahead, steps, rows, series.dim_y, said.paths), draws, state);
    const bool along = dynamic_cast<const Autoregressive*>(prediction.get()) != nullptr;
    if (at_once) {
      const Marginals marginals = on_host(prediction->marginals());
      const Moments m = moments(marginals);
      said.mean = numbers(m.mean);
      said.std = numbers(m.std);
      for (const double p : options.quantiles) said.quantiles.push_back(numbers(quantile(marginals, p)));
      result.how = fmt::format("{}, {}", along ? "free-running" : "one-shot", prediction->forms().marginal);
    } else if (ahead == 0) {
      result.how = fmt::format("free-running, {} paths of windows of {}{}", count, rules_.horizon,
                               along ? "" : ", each at one shot");
    }
    if (count > 0) append_paths(prediction->sample(ahead == 0 ? count : 1, draws), said.paths);
  }
  if (!at_once) summarise(options.quantiles, said);
  for (std::int64_t h = 0; h < options.horizon; ++h) result.time.push_back(paths.time(paths.origin() + h));
  said.paths.resize(static_cast<std::size_t>(options.samples));
  in_units(said, scale_, result);
  return result;
}

}  // namespace npzoo
