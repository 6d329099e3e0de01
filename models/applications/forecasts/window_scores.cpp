#include "npzoo/models/applications/forecasts/window_scores.h"

#include <cmath>

namespace npzoo {

namespace {

/// Adds the errors of a value: the square from `mean`, the absolute one from `median`.
class WindowErrors {
 public:
  explicit WindowErrors(std::int64_t horizon) {
    score_.squares.assign(static_cast<std::size_t>(horizon), std::numeric_limits<double>::quiet_NaN());
  }

  void add(double mean, double median, double y, std::int64_t target, std::int64_t channels) {
    const double square = (mean - y) * (mean - y);
    score_.mse += square;
    score_.mae += std::abs(median - y);
    double& at = score_.squares[static_cast<std::size_t>(target)];
    at = (std::isnan(at) ? 0 : at) + square / static_cast<double>(channels);
    ++values_;
  }
  WindowScore result() {
    score_.mse /= values_;
    score_.mae /= values_;
    return std::move(score_);
  }
  WindowScore& score() { return score_; }

 private:
  WindowScore score_;
  double values_ = 0;
};

}  // namespace

std::vector<std::int64_t> known_targets(const ForecastSeries& series, const WindowRules& rules, std::int64_t start) {
  std::vector<std::int64_t> targets;
  for (std::int64_t h = 0; h < rules.horizon; ++h)
    if (series.series.known[static_cast<std::size_t>(start + rules.context + h)]) targets.push_back(h);
  return targets;
}

WindowScore score_values(std::span<const double> forecast, std::span<const double> y,
                         std::span<const std::int64_t> targets, std::int64_t horizon) {
  WindowErrors errors(horizon);
  const std::size_t channels = y.size() / targets.size();
  for (std::size_t i = 0; i < y.size(); ++i)
    errors.add(forecast[i], forecast[i], y[i], targets[i / channels], static_cast<std::int64_t>(channels));
  return errors.result();
}

std::vector<WindowScore> score_marginals(const Marginals& marginals, const Tensor& y,
                                         std::span<const std::vector<std::int64_t>> targets, std::int64_t horizon) {
  const Marginals m = on_host(marginals);
  const Tensor values = y.to(Device::cpu).to(DType::float64), mean = moments(m).mean,
               median = m.mean.dim(0) == 1 && m.scale == Scale::linear ? mean : quantile(m, 0.5),
               density = log_likelihood(m, values), score = crps(m, values), mass = central_mass(m, values);
  const std::int64_t nt = y.dim(1), dy = y.dim(2);
  std::vector<WindowScore> windows;
  for (std::int64_t b = 0; b < y.dim(0); ++b) {
    WindowErrors errors(horizon);
    errors.score().log_likelihood = 0;
    for (std::int64_t t = 0; t < nt; ++t) {
      errors.score().log_likelihood += density.data<double>()[b * nt + t] / static_cast<double>(nt);
      for (std::int64_t i = (b * nt + t) * dy; i < (b * nt + t + 1) * dy; ++i) {
        errors.add(mean.data<double>()[i], median.data<double>()[i], values.data<double>()[i],
                   targets[static_cast<std::size_t>(b)][static_cast<std::size_t>(t)], dy);
        errors.score().crps.push_back(score.data<double>()[i]);
        errors.score().mass.push_back(mass.data<double>()[i]);
      }
    }
    windows.push_back(errors.result());
  }
  return windows;
}

}  // namespace npzoo
