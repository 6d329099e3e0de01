#include "npzoo/models/applications/forecasts/series_ends.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "npzoo/datasets/gaussian_mixture.h"
#include "npzoo/datasets/series/rounding.h"
#include "npzoo/models/applications/forecasts/end_parts.h"

namespace npzoo {

namespace {

constexpr std::size_t kMostSeen = 512;  // steps at the end of a series that the weights see
/// Averaged deviations are too small on most development series: the numbers that methods are fitted by are not known
/// exactly. A series' own held-out errors change this factor, which counts as `kPriorValues` of them.
constexpr double kUsualWidth = 1.1, kMostWidth = 1.15, kPriorValues = 20;
/// Shares fall with this power of a score, which is drawn to the median of all as if so many values had that. `kTiny`
/// of the worst score is added to each: perfect scores are chance.
constexpr double kPower = 5, kMedianValues = 4, kTiny = 1e-3;

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

/// How much more a profile of many seasons counts than one of few; 1 without a profile. A line through two values, the
/// last season alone and the values with their season count less by this: they carry the noise of few values.
double trust_in_profile(const EndPart& whole) {
  constexpr double kFewSeasons = 16, kMostTrust = 8;
  if (!whole.methods[index_of(EndMethod::level_profile)].exists()) return 1;
  const auto seasons = static_cast<double>(whole.y.size()) / static_cast<double>(whole_period(whole.periods));
  return std::clamp(seasons / kFewSeasons, 1.0, kMostTrust);
}

/// Whether the weights predict the values, too. Their share would not be worth the time if many seasons are known.
bool takes_values(const EndPart& whole) {
  constexpr double kEnough = 4;
  return trust_in_profile(whole) < kEnough;
}

/// Shares before scores: a short part that is held out cannot show which methods are good far ahead.
std::array<double, kEndMethods> usual_shares(const EndPart& whole) {
  std::array<double, kEndMethods> shares{1, 0.5, 0.5, 0.5, 1, 1, 1, 0.5, 0.5};
  if (whole_period(whole.periods) == 1) {
    shares[index_of(EndMethod::smoothing)] = 1.5;
    shares[index_of(EndMethod::drift)] = 2;
  }
  const double trust = trust_in_profile(whole);
  shares[index_of(EndMethod::level_profile)] *= trust;
  for (const EndMethod method : {EndMethod::drift, EndMethod::seasonal_naive, EndMethod::values})
    shares[index_of(method)] /= trust;
  return shares;
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

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// Shares by the scores of held-out parts. Methods without a forecast have none. Without scores logarithms have none
/// either, nor has the last value of a series without a season.
std::array<double, kEndMethods> shares_of(const EndPart& whole, std::span<const EndPart> held_out) {
  std::array<double, kEndMethods> shares = usual_shares(whole);
  for (std::size_t m = 0; m < kEndMethods; ++m) {
    const auto exists = [m](const EndPart& part) { return part.methods[m].exists(); };
    if (!exists(whole) || !std::ranges::all_of(held_out, exists)) shares[m] = 0;
  }
  double values = 0;  // of each method's score
  for (const EndPart& part : held_out)
    values += static_cast<double>(std::ranges::count_if(part.truth, [](double y) { return !std::isnan(y); }));
  std::vector<double> scores;  // of methods with a share: their mean CRPS
  for (std::size_t m = 0; m < kEndMethods; ++m) {
    if (shares[m] == 0) continue;
    double& score = scores.emplace_back();
    for (const EndPart& part : held_out)
      score += crps(part.methods[m], part.truth) / static_cast<double>(held_out.size());
  }
  const bool scored = !held_out.empty() && std::ranges::all_of(scores, [](double s) { return std::isfinite(s); });
  if (scored && std::ranges::max(scores) > 0) {
    const double middle = median_of(scores);
    for (double& score : scores) score = (values * score + kMedianValues * middle) / (values + kMedianValues);
    const double best = std::ranges::min(scores), tiny = kTiny * std::ranges::max(scores);
    for (std::size_t m = 0, k = 0; m < kEndMethods; ++m)
      if (shares[m] > 0) shares[m] *= std::pow((best + tiny) / (scores[k++] + tiny), kPower);
  } else {
    shares[index_of(EndMethod::logarithms)] = shares[index_of(EndMethod::log_remainder)] = 0;
    if (whole_period(whole.periods) == 1) shares[index_of(EndMethod::seasonal_naive)] = 0;
  }
  double sum = 0;
  for (const double share : shares) sum += share;
  for (double& share : shares) share /= sum;
  return shares;
}

/// Averages quantiles; deviations are multiplied by `width`.
EndPath combine(const EndPart& part, const std::array<double, kEndMethods>& shares, double width) {
  const std::vector<double> none(static_cast<std::size_t>(part.horizon));
  EndPath path{.gaussian = {none, none}};
  for (std::size_t m = 0; m < kEndMethods; ++m) {
    if (shares[m] == 0) continue;
    const EndPath& method = part.methods[m];
    for (std::size_t h = 0; h < none.size(); ++h) {
      path.gaussian.mean[h] += shares[m] * method.gaussian.mean[h];
      path.gaussian.std[h] += shares[m] * width * method.gaussian.std[h];
    }
    for (EndPath::LogNormal one : method.log_normal) {
      one.share *= shares[m];
      for (double& std : one.logarithm.std) std *= width;
      path.log_normal.push_back(std::move(one));
    }
  }
  return path;
}

/// The factor of deviations that suits the errors of the combination on held-out parts. Errors of neighbouring steps
/// are alike, so that each part counts as few of them. A series too short to hold anything out gets a factor of its
/// own: its methods were fitted to few values.
double width_of(std::span<const EndPart> held_out, const std::array<double, kEndMethods>& shares) {
  constexpr double kMostSquare = 9, kMostValues = 5, kUnscoredWidth = 1.6;
  if (held_out.empty()) return kUnscoredWidth;
  double squares = kPriorValues * kUsualWidth * kUsualWidth, count = kPriorValues;
  for (const EndPart& part : held_out) {
    const EndPath path = combine(part, shares, 1);
    double sum = 0, known = 0;
    for (std::size_t h = 0; h < part.truth.size(); ++h) {
      const ComonotonicSum z = path.step(h);
      const double spread = (z.at(1) - z.at(-1)) / 2;
      if (std::isnan(part.truth[h]) || !(spread > 0)) continue;
      sum += std::min(std::pow((part.truth[h] - z.at(0)) / spread, 2), kMostSquare);
      ++known;
    }
    if (known == 0) continue;
    const double values = std::min(known, kMostValues);
    squares += values * sum / known;
    count += values;
  }
  return std::min(std::sqrt(squares / count), kMostWidth);
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
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EndPart& whole = parts[i].front();
    const auto held_out = std::span(std::as_const(parts[i])).subspan(1);
    const auto shares = shares_of(whole, held_out);
    EndForecast& forecast = forecasts.emplace_back();
    forecast.combined = combine(whole, shares, width_of(held_out, shares));
    forecast.shares = shares;
    forecast.periods = whole.periods;
    forecast.methods = std::move(whole.methods);
    forecast.smoothing = std::move(whole.smoothing);
    widen_constant(ends[i].y, forecast);
  }
  return forecasts;
}

}  // namespace npzoo
