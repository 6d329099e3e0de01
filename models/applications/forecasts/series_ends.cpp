#include "npzoo/models/applications/forecasts/series_ends.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "npzoo/datasets/gaussian_mixture.h"
#include "npzoo/datasets/series/rounding.h"
#include "npzoo/models/applications/forecasts/end_combination.h"
#include "npzoo/models/applications/forecasts/end_parts.h"

namespace npzoo {

namespace {

constexpr std::size_t kMostSeen = 512;  // steps at the end of a series that the weights see

/// A question to the weights about steps that are numbered from 0.
Series question_of(std::span<const double> y, std::int64_t horizon) {
  Series s;
  for (std::size_t t = y.size() > kMostSeen ? y.size() - kMostSeen : 0; t < y.size(); ++t) {
    if (std::isnan(y[t])) continue;
    s.x.push_back(static_cast<double>(t));
    s.y.push_back(y[t]);
  }
  for (std::int64_t h = 0; h < horizon; ++h) s.targets.push_back(static_cast<double>(std::ssize(y) + h));
  return s;
}

/// Whether the weights predict the values, too. Their share would not be worth the time if many seasons are known.
bool takes_values(const EndPart& whole) {
  constexpr double kEnough = 4;
  return trust_in_profile(whole) < kEnough;
}

/// Asks the weights for the remainders and the values of all parts.
void ask_weights(const SeriesPredictor& predictor, std::vector<std::vector<EndPart>>& of_series) {
  struct Asked {
    EndPart& part;
    EndMethod method;
    const EndPart::Remainder* of;  // null: the values themselves
  };
  std::vector<Series> questions;
  std::vector<Asked> asked;
  const auto ask = [&](EndPart& part, bool values) {
    questions.push_back(question_of(part.values.left, part.horizon));
    asked.push_back({part, EndMethod::remainder, &part.values});
    if (values) {
      questions.push_back(question_of(part.y, part.horizon));
      asked.push_back({part, EndMethod::values, nullptr});
    }
    if (!part.logarithms) return;
    questions.push_back(question_of(part.logarithms->left, part.horizon));
    asked.push_back({part, EndMethod::log_remainder, &*part.logarithms});
  };
  for (std::vector<EndPart>& parts : of_series)
    for (EndPart& part : parts) ask(part, takes_values(parts.front()));
  const std::vector<SeriesPrediction> answers = predictor.predict(questions);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto& [part, method, of] = asked[i];
    GaussianPath path{answers[i].mean, answers[i].std};
    for (std::size_t h = 0; of && h < path.mean.size(); ++h) {
      path.mean[h] += of->regular[h];
      path.std[h] = std::sqrt(path.std[h] * path.std[h] + of->variance[h]);
    }
    part.methods[index_of(method)] =
        method == EndMethod::log_remainder ? from_logarithms(std::move(path)) : EndPath{std::move(path)};
  }
}

/// Gives forecasts of a series of one value at least the deviation of its rounding. Methods fit it without an error,
/// which does not show that the next value is the same to more decimals than are written.
void widen_constant(std::span<const double> y, EndForecast& forecast) {
  const double value = y.back();
  if (std::ranges::any_of(y, [&](double v) { return !std::isnan(v) && v != value; })) return;
  const double least = rounding_std(value);
  const auto widen = [&](EndPath& path) {
    for (std::size_t h = 0; h < path.gaussian.std.size(); ++h)
      path.gaussian.std[h] += std::max(0.0, least - path.step(h).moments().std);
  };
  widen(forecast.combined);
  std::ranges::for_each(forecast.methods, widen);
}

}  // namespace

std::string_view name_of(EndMethod method) {
  constexpr std::array<std::string_view, kEndMethods> kNames{"exponential smoothing",
                                                             "theta",
                                                             "drift",
                                                             "seasonal naive",
                                                             "weights, without trend and season",
                                                             "weights",
                                                             "exponential smoothing of logarithms",
                                                             "weights, remainder of logarithms",
                                                             "season profile"};
  return kNames[index_of(method)];
}

double at_step(std::span<const double> path, double last, double ahead) {
  const double below = std::floor(ahead), share = ahead - below;
  const auto number = [&](double step) { return step < 1 ? last : path[static_cast<std::size_t>(step) - 1]; };
  return share == 0 ? number(below) : (1 - share) * number(below) + share * number(below + 1);
}

ComonotonicSum EndPath::at(double ahead, double last) const {
  ComonotonicSum z{at_step(gaussian.mean, last, ahead), at_step(gaussian.std, 0, ahead)};
  double sum = 0;  // of shares: the Gaussian has what is left of the last value
  for (const LogNormal& one : log_normal) {
    z.parts.push_back(
        {one.share, at_step(one.logarithm.mean, std::log(last), ahead), at_step(one.logarithm.std, 0, ahead)});
    sum += one.share;
  }
  if (ahead < 1) z.mean -= sum * (1 - ahead) * last;
  return z;
}

double crps(const EndPath& path, std::span<const double> truth) {
  double sum = 0, count = 0;
  for (std::size_t h = 0; h < truth.size(); ++h) {
    if (std::isnan(truth[h])) continue;
    sum += path.step(h).crps(truth[h]);
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> EndForecast::paths(std::span<Random> streams) const {
  const std::size_t horizon = combined.gaussian.mean.size();
  std::vector<ComonotonicSum> steps;
  for (std::size_t h = 0; h < horizon; ++h) steps.push_back(combined.step(h));
  std::vector<double> all = smoothing->path_errors(static_cast<std::int64_t>(horizon), streams);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = steps[i % horizon].at(all[i]);
  return all;
}

std::vector<EndForecast> forecast_ends(const SeriesPredictor& predictor, std::span<const SeriesEnd> ends) {
  std::vector<std::vector<EndPart>> parts = fit_parts(ends);
  ask_weights(predictor, parts);
  std::vector<EndForecast> forecasts;
  const std::vector<EndCombination> combinations = choose_combinations(parts);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EndPart& whole = parts[i].front();
    EndForecast& forecast = forecasts.emplace_back();
    forecast.combined = combine(whole, combinations[i]);
    forecast.shares = combinations[i].shares;
    forecast.periods = whole.periods;
    forecast.methods = std::move(whole.methods);
    forecast.smoothing = std::move(whole.smoothing);
    widen_constant(ends[i].y, forecast);
  }
  return forecasts;
}

}  // namespace npzoo
