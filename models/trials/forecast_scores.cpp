#include "npzoo/models/trials/forecast_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace npzoo {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

std::string number(double value, int width) {
  return fmt::format("{:<{}}", std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, std::abs(value) < 0.1 ? 5 : 4),
                     width);
}

}  // namespace

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
    add(fmt::format("coverage.{}", percent), share);
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
