#include "npzoo/datasets/series/smoothing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "npzoo/datasets/series/baselines.h"
#include "npzoo/datasets/series/season_places.h"
#include "npzoo/engine/optim/nelder_mead.h"

namespace npzoo {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double logistic(double u) { return 1 / (1 + std::exp(-u)); }

struct Line {
  double level = 0, slope = 0, count = 0;  // level at place 0
};

/// The straight line that fits the first `most` known values best.
Line fit_line(std::span<const double> y, double most) {
  double n = 0, sum_t = 0, sum_y = 0, tt = 0, ty = 0;
  for (std::size_t t = 0; t < y.size() && n < most; ++t) {
    if (std::isnan(y[t])) continue;
    const auto place = static_cast<double>(t);
    ++n;
    sum_t += place;
    sum_y += y[t];
    tt += place * place;
    ty += place * y[t];
  }
  const double spread = n * tt - sum_t * sum_t;
  const double slope = spread > 0 ? (n * ty - sum_t * sum_y) / spread : 0;
  return {n > 0 ? (sum_y - slope * sum_t) / n : 0, slope, n};
}

double mean_difference(std::span<const double> y) {
  double sum = 0, count = 0, before = std::numeric_limits<double>::quiet_NaN();
  for (const double v : y) {
    if (std::isnan(v)) continue;
    if (!std::isnan(before)) {
      sum += std::abs(v - before);
      ++count;
    }
    before = v;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace

double ExponentialSmoothing::size_at(double level) const {
  constexpr double kLeast = 1e-3;  // of the scale
  return form_.relative ? std::max(level, kLeast * scale_) : 1;
}

struct ExponentialSmoothing::State {
  double level = 0, trend = 0, squares = 0, logarithms = 0, count = 0;
  double alpha = 0, beta = 0, gamma = 0, damping = 1;
  std::vector<double> season;  // of each place of a period
};

/// `parameters`: logits of α, of β if the trend changes, of φ if it dies away and of γ with a season; then level and
/// trend at the beginning.
ExponentialSmoothing::State ExponentialSmoothing::run(std::span<const double> y,
                                                      std::span<const double> parameters) const {
  State s;
  std::size_t at = 0;
  s.alpha = logistic(parameters[at++]);
  if (form_.trend >= Trend::local) s.beta = logistic(parameters[at++]);
  if (form_.trend == Trend::damped) {
    constexpr double kLeastDamping = 0.8, kMostDamping = 0.98;
    s.damping = kLeastDamping + (kMostDamping - kLeastDamping) * logistic(parameters[at++]);
  }
  const auto period = static_cast<std::size_t>(form_.period);
  if (period > 1) s.gamma = (1 - s.alpha) * logistic(parameters[at++]);
  s.season.assign(period, 0);
  s.level = base_ + scale_ * parameters[at++];
  if (form_.trend != Trend::none) s.trend = scale_ * parameters[at++];
  std::size_t place = period - 1;  // in the season
  for (std::size_t t = 0; t < y.size(); ++t) {
    s.trend *= s.damping;
    s.level += s.trend;
    place = place + 1 == period ? 0 : place + 1;
    if (std::isnan(y[t])) continue;
    double& season = s.season[place];
    const double expected = s.level, error = y[t] - expected - season;
    s.level += s.alpha * error;
    s.trend += s.alpha * s.beta * error;
    season += s.gamma * error;
    const double size = size_at(expected);
    s.squares += error * error / (size * size);
    if (form_.relative) s.logarithms += 2 * std::log(size);
    ++s.count;
  }
  return s;
}

ExponentialSmoothing::ExponentialSmoothing(std::span<const double> y, Form form, double spent) : form_(form) {
  const double difference = mean_difference(y);
  const Line line = fit_line(y, std::max<double>(10, 2 * static_cast<double>(form.period)));
  scale_ = difference > 0 ? difference : 1;
  base_ = line.level;
  std::vector<double> parameters{0};
  if (form.trend >= Trend::local) parameters.push_back(-2);
  if (form.trend == Trend::damped) parameters.push_back(1);
  if (form.period > 1) parameters.push_back(-3);
  const std::size_t logits = parameters.size();
  parameters.push_back(0);
  if (form.trend != Trend::none) parameters.push_back(line.slope / scale_);
  // A weak pull keeps logits that nothing depends on from running away.
  const double size = form.relative ? std::max(std::abs(base_), scale_) : 1,
               tiny = 1e-12 * scale_ * scale_ / (size * size);
  const auto loss = [&](const std::vector<double>& p) {
    const State s = run(y, p);
    double pull = 0;
    for (std::size_t i = 0; i < logits; ++i) pull += p[i] * p[i];
    constexpr double kPull = 0.02;
    return s.count * std::log(s.squares / std::max(s.count, 1.0) + tiny) + s.logarithms + kPull * pull;
  };
  constexpr double kSame = 1e-7;
  parameters = nelder_mead(loss, parameters,
                           {.step = 1,
                            .most_calls = 150 * static_cast<int>(parameters.size()),
                            .value_spread = kSame,
                            .relative_spread = kSame})
                   .at;
  const State s = run(y, parameters);
  const double fitted = static_cast<double>(parameters.size()) + spent;
  variance_ = s.squares / std::max(s.count - fitted, 0.3 * s.count) + tiny;
  const double k = fitted + 1;
  criterion_ = s.count > k + 2 ? s.count * std::log(s.squares / s.count + tiny) + s.logarithms + 2 * k +
                                     2 * k * (k + 1) / (s.count - k - 1)
                               : kInfinite;
  level_ = s.level;
  trend_ = s.trend;
  alpha_ = s.alpha;
  beta_ = s.beta;
  gamma_ = s.gamma;
  damping_ = s.damping;
  for (std::size_t h = 0; h < s.season.size(); ++h) season_.push_back(s.season[(y.size() + h) % s.season.size()]);
}

GaussianPath ExponentialSmoothing::forecast(std::int64_t horizon) const {
  GaussianPath path;
  double level = level_, trend = trend_, reach = 0, power = 1;
  std::vector<double> effects{1}, sizes;  // of an error on the values that follow; of errors by place
  for (std::int64_t h = 1; h <= horizon; ++h) {
    trend *= damping_;
    level += trend;
    path.mean.push_back(level + season_[static_cast<std::size_t>(h - 1) % season_.size()]);
    const double size = size_at(level);
    sizes.push_back(size * size);
    double variance = 0;
    for (std::size_t j = 0; j < effects.size(); ++j) variance += effects[j] * effects[j] * sizes[sizes.size() - 1 - j];
    path.std.push_back(std::sqrt(variance_ * variance));
    power *= damping_;
    reach += power;
    effects.push_back(alpha_ * (1 + beta_ * reach) + (form_.period > 1 && h % form_.period == 0 ? gamma_ : 0));
  }
  return path;
}

std::vector<double> ExponentialSmoothing::path_errors(const GaussianPath& forecast, Random& random) const {
  std::vector<double> errors, season(season_.size(), 0);
  double level = 0, trend = 0;  // what errors of earlier steps have added
  double expected_level = level_, expected_trend = trend_;
  for (std::size_t h = 0; h < forecast.std.size(); ++h) {
    expected_trend *= damping_;
    expected_level += expected_trend;
    trend *= damping_;
    level += trend;
    const double error = std::sqrt(variance_) * size_at(expected_level) * random.normal();
    double& own_season = season[h % season.size()];
    errors.push_back(forecast.std[h] > 0 ? (level + own_season + error) / forecast.std[h] : 0);
    level += alpha_ * error;
    trend += alpha_ * beta_ * error;
    own_season += gamma_ * error;
  }
  return errors;
}

std::vector<ExponentialSmoothing::Form> AveragedSmoothing::forms(std::span<const double> y, std::int64_t period,
                                                                 bool positive) {
  using Trend = ExponentialSmoothing::Trend;
  constexpr std::int64_t kLongestSeason = 60;
  // Nothing holds a place of the season without a value.
  const bool seasonal =
      period > 1 && period <= kLongestSeason && !SeasonPlaces(y, static_cast<double>(period)).any_empty();
  std::vector<ExponentialSmoothing::Form> all;
  for (const Trend trend : {Trend::none, Trend::fixed, Trend::local, Trend::damped})
    for (const bool relative : {false, true}) {
      if (relative && !positive) continue;
      all.push_back({trend, 1, relative});
      if (seasonal) all.push_back({trend, period, relative});
    }
  return all;
}

AveragedSmoothing::AveragedSmoothing(std::vector<ExponentialSmoothing> fitted) : forms_(std::move(fitted)) {
  constexpr double kCounts = 4;
  double best = kInfinite;
  for (const ExponentialSmoothing& form : forms_) best = std::min(best, form.criterion());
  if (!std::isfinite(best)) forms_.resize(1, forms_.front());
  double sum = 0;
  for (const ExponentialSmoothing& form : forms_)
    sum += weights_.emplace_back(std::isfinite(best) ? std::exp((best - form.criterion()) / kCounts) : 1);
  for (double& weight : weights_) weight /= sum;
}

GaussianPath AveragedSmoothing::forecast(std::int64_t horizon) const {
  const auto size = static_cast<std::size_t>(horizon);
  GaussianPath mean{std::vector<double>(size, 0), std::vector<double>(size, 0)};
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    const GaussianPath path = forms_[i].forecast(horizon);
    for (std::size_t h = 0; h < size; ++h) {
      mean.mean[h] += weights_[i] * path.mean[h];
      mean.std[h] += weights_[i] * path.std[h];
    }
  }
  return mean;
}

std::vector<double> AveragedSmoothing::path_errors(std::int64_t horizon, std::span<Random> streams) const {
  std::vector<GaussianPath> forecasts;
  for (const ExponentialSmoothing& form : forms_) forecasts.push_back(form.forecast(horizon));
  std::vector<double> all;
  for (Random& random : streams) {
    std::size_t i = 0;
    for (double left = random.uniform() - weights_[0]; left >= 0 && i + 1 < forms_.size(); left -= weights_[i]) ++i;
    const std::vector<double> path = forms_[i].path_errors(forecasts[i], random);
    all.insert(all.end(), path.begin(), path.end());
  }
  return all;
}

GaussianPath theta_forecast(std::span<const double> y, std::int64_t horizon) {
  const Line line = fit_line(y, kInfinite);
  const double drift = line.slope / 2;
  std::vector<double> flat(y.begin(), y.end());
  for (std::size_t t = 0; t < flat.size(); ++t) flat[t] -= drift * static_cast<double>(t);
  GaussianPath path = ExponentialSmoothing(flat, {}, 1).forecast(horizon);
  for (std::size_t h = 0; h < path.mean.size(); ++h) path.mean[h] += drift * static_cast<double>(y.size() + h);
  return path;
}

GaussianPath seasonal_naive_path(std::span<const double> y, std::int64_t horizon, std::int64_t period) {
  GaussianPath path{seasonal_naive(y, horizon, period), {}};
  double squares = 0, count = 0;
  const auto p = static_cast<std::size_t>(period);
  for (std::size_t t = p; t < y.size(); ++t) {
    const double error = y[t] - y[t - p];
    if (std::isnan(error)) continue;
    squares += error * error;
    ++count;
  }
  const double variance = count > 0 ? squares / count : 0;
  for (std::int64_t h = 0; h < horizon; ++h)
    path.std.push_back(std::sqrt(variance * static_cast<double>(h / period + 1)));
  return path;
}

GaussianPath drift_path(std::span<const double> y, std::int64_t horizon) {
  GaussianPath path{drift(y, horizon), {}};
  const auto known = [](double v) { return !std::isnan(v); };
  const auto first = std::ranges::find_if(y, known) - y.begin();
  auto last = std::ssize(y) - 1;
  while (last > first && !known(y[static_cast<std::size_t>(last)])) --last;
  const auto span = static_cast<double>(std::max<std::int64_t>(last - first, 1));
  const double slope =
      last > first ? (y[static_cast<std::size_t>(last)] - y[static_cast<std::size_t>(first)]) / span : 0;
  double squares = 0, count = 0;
  for (std::int64_t t = first, before = -1; t <= last; ++t) {
    if (!known(y[static_cast<std::size_t>(t)])) continue;
    if (before >= 0) {
      const auto steps = static_cast<double>(t - before);
      const double error = y[static_cast<std::size_t>(t)] - y[static_cast<std::size_t>(before)] - slope * steps;
      squares += error * error / steps;
      ++count;
    }
    before = t;
  }
  const double variance = squares / std::max(count - 1, 1.0);
  for (std::int64_t h = 0; h < horizon; ++h) {
    const auto steps = static_cast<double>(std::ssize(y) + h - last);
    path.std.push_back(std::sqrt(variance * steps * (1 + steps / span)));
  }
  return path;
}

}  // namespace npzoo
