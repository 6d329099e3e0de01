#include "npzoo/models/trials/forecast_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace npzoo {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

/// Adds the errors of a value: `mean` is what is best for squares, `median` for absolutes.
class WindowErrors {
 public:
  explicit WindowErrors(std::int64_t horizon) { score_.squares.assign(static_cast<std::size_t>(horizon), kMissing); }

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

std::string number(double value, int width) {
  return fmt::format("{:<{}}", std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, std::abs(value) < 0.1 ? 5 : 4),
                     width);
}

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

void WindowMean::add(double value) {
  all_.add(value);
  sum_of_block_ += value;
  if (++in_block_ < block_) return;
  blocks_.add(sum_of_block_ / static_cast<double>(block_));
  sum_of_block_ = 0;
  in_block_ = 0;
}

ForecastScores::ForecastScores(std::string name, std::string how, const WindowRules& rules)
    : name_(std::move(name)),
      how_(std::move(how)),
      log_likelihood_(rules.length()),
      mse_(rules.length()),
      mae_(rules.length()),
      squares_(static_cast<std::size_t>(rules.horizon)) {}

void ForecastScores::add(const WindowScore& window) {
  if (!std::isnan(window.log_likelihood)) log_likelihood_.add(window.log_likelihood);
  mse_.add(window.mse);
  mae_.add(window.mae);
  for (std::size_t h = 0; h < squares_.size(); ++h)
    if (!std::isnan(window.squares[h])) squares_[h].add(window.squares[h]);
  for (std::size_t i = 0; i < window.crps.size(); ++i) fit_.add(window.crps[i], window.mass[i]);
  fitted_ += std::ssize(window.crps);
}

double ForecastScores::mse_at(std::int64_t step) const {
  const RunningMean& at = squares_[static_cast<std::size_t>(step - 1)];
  return at.count() > 0 ? at.estimate().value : kMissing;
}

std::vector<std::int64_t> ForecastScores::steps(std::int64_t horizon) {
  std::vector<std::int64_t> steps{1, horizon / 4, horizon / 2, horizon * 3 / 4, horizon};
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  std::erase(steps, 0);
  return steps;
}

void ForecastScores::add_figures(double windows_per_point, std::vector<Figure>& figures) const {
  const auto add = [&](const std::string& figure, double value, bool more_is_better = false) {
    figures.push_back(
        {.name = fmt::format("{}.{}", name_, figure), .value = {value}, .more_is_better = more_is_better});
  };
  if (log_likelihood_.count() > 0) {
    add("log_likelihood", log_likelihood().value, true);
    figures.back().how = how_;
    add("nll", -log_likelihood().value);
    add("nll_authors", -log_likelihood().value * windows_per_point);
  }
  add("mse", mse_.estimate().value);
  add("mse_authors", mse_.estimate().value * windows_per_point);
  add("mae", mae_.estimate().value);
  for (const std::int64_t step : steps(std::ssize(squares_))) add(fmt::format("mse_at_{}", step), mse_at(step));
  if (fitted_ == 0) return;
  add("crps", fit_.crps());
  for (const auto& [percent, share] : fit_.coverage()) {
    add(fmt::format("coverage_{}", percent), share);
    figures.back().ideal = percent / 100.0;
  }
  add("calibration_error", fit_.calibration_error());
}

std::string ForecastScores::line() const {
  std::string title = name_;
  std::ranges::replace(title, '_', ' ');
  const double density = log_likelihood_.count() > 0 ? log_likelihood().value : kMissing;
  std::string line = fmt::format("{:<24}{}{}{}", title, number(mse_.estimate().value, 10),
                                 number(mae_.estimate().value, 10), number(density, 10));
  if (fitted_ > 0) {
    line += number(fit_.crps(), 10);
    for (const auto& [percent, share] : fit_.coverage()) line += fmt::format("{:<7.1f}", 100 * share);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string ForecastScores::line_of_steps() const {
  std::string line;
  for (const std::int64_t step : steps(std::ssize(squares_)))
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", step, number(mse_at(step), 0));
  return line;
}

}  // namespace npzoo
