#include "npzoo/models/applications/forecasts/series_ends.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "npzoo/datasets/gaussian_mixture.h"
#include "npzoo/datasets/series/rounding.h"
#include "npzoo/datasets/series/season.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"

namespace npzoo {

namespace {

/// Long series are forecast from their last steps: those that curves are fitted to, and those that the weights see.
constexpr std::size_t kMostFitted = 2000, kMostSeen = 512;
constexpr std::array<double, kEndMethods> kUsualShares{1, 0.5, 0.5, 0.5, 1, 1, 1, 0.5};
/// Averaged deviations are too small on most development series: the numbers that methods are fitted by are not known
/// exactly. A series' own held-out errors change this factor, which counts as `kPriorValues` of them.
constexpr double kUsualWidth = 1.1, kMostWidth = 1.15, kPriorValues = 20;
/// Shares fall with this power of a score, which is drawn to the median of all as if so many values had that. `kTiny`
/// of the worst score is added to each: perfect scores are chance.
constexpr double kPower = 5, kMedianValues = 4, kTiny = 1e-3;

std::size_t at(EndMethod method) { return static_cast<std::size_t>(method); }

/// A forecast from some first part of a series: all of it, or less where the rest is held out.
struct Part {
  std::size_t series = 0;
  std::vector<double> y;
  std::vector<double> truth;  // empty: nothing is held out
  std::int64_t horizon = 0;
  std::vector<double> periods;
  bool takes_logarithms = true;
  std::array<EndPath, kEndMethods> methods{};
  std::optional<AveragedSmoothing> smoothing{};
  /// What smoothing is fitted to: the values or their logarithms, without their season.
  struct Curve {
    SeriesTrend trend;
    std::vector<double> flat;
    std::vector<ExponentialSmoothing::Form> forms;
    std::vector<std::optional<ExponentialSmoothing>> fitted{};
  };
  std::optional<Curve> curve{}, log_curve{};  // the second of positive values
  struct Remainder {
    std::vector<double> regular{}, variance{};  // line and season behind the part, and their variance
    std::vector<double> left{};                 // values without these
  };
  Remainder values{};
  std::optional<Remainder> logarithms{};  // of positive values
};

std::int64_t whole_period(std::span<const double> periods) {
  return periods.empty() ? 1 : std::max<std::int64_t>(1, std::llround(periods[0]));
}

/// Adds a season and its variance.
GaussianPath with_season(GaussianPath path, const SeriesTrend& trend, std::size_t begin) {
  for (std::size_t h = 0; h < path.mean.size(); ++h) {
    path.mean[h] += trend.season(static_cast<double>(begin + h));
    path.std[h] = std::sqrt(path.std[h] * path.std[h] + trend.season_variance());
  }
  return path;
}

std::vector<double> periods_of(const SeriesEnd& end, std::span<const double> y) {
  return end.periods.empty() ? find_periods(y, end.likely) : end.periods;
}

/// Values without their season.
std::vector<double> without_season(std::span<const double> y, const SeriesTrend& trend) {
  std::vector<double> flat(y.begin(), y.end());
  for (std::size_t t = 0; t < flat.size(); ++t) flat[t] -= trend.season(static_cast<double>(t));
  return flat;
}

/// Takes line and season away. `flat` is without the season.
Part::Remainder remainder_of(std::vector<double> flat, const SeriesTrend& trend, std::int64_t horizon) {
  Part::Remainder r;
  for (std::int64_t h = 1; h <= horizon; ++h) {
    const double place = static_cast<double>(flat.size()) + static_cast<double>(h - 1);
    r.regular.push_back(trend.season(place) + trend.slope() * place);
    r.variance.push_back(trend.season_variance() + trend.slope_variance() * static_cast<double>(h * h));
  }
  r.left = std::move(flat);
  for (std::size_t t = 0; t < r.left.size(); ++t) r.left[t] -= trend.slope() * static_cast<double>(t);
  return r;
}

/// From logarithms back to values. So that no mean explodes, the deviation of a logarithm is 1 at most.
EndPath from_logarithms(GaussianPath logarithm) {
  for (double& std : logarithm.std) std = std::min(std, 1.0);
  const std::vector<double> none(logarithm.mean.size());
  return {.gaussian = {none, none}, .log_normal = {{1, std::move(logarithm)}}};
}

Part::Curve curve_of(std::span<const double> y, std::span<const double> periods, bool relative) {
  SeriesTrend trend(y, periods);
  std::vector<double> flat = without_season(y, trend);
  std::vector<ExponentialSmoothing::Form> forms = AveragedSmoothing::forms(flat, whole_period(periods), relative);
  return {std::move(trend), std::move(flat), std::move(forms)};
}

/// Finds seasons and trends, and computes what takes little time.
void prepare(Part& part) {
  const std::span<const double> y = part.y;
  const std::int64_t horizon = part.horizon;
  const bool positive = std::ranges::none_of(y, [](double v) { return v <= 0; });
  const auto& [trend, flat, forms, fitted] = part.curve.emplace(curve_of(y, part.periods, positive));
  auto& methods = part.methods;
  methods[at(EndMethod::theta)] = {with_season(theta_forecast(flat, horizon), trend, y.size())};
  methods[at(EndMethod::drift)] = {with_season(drift_path(flat, horizon), trend, y.size())};
  methods[at(EndMethod::seasonal_naive)] = {seasonal_naive_path(y, horizon, whole_period(part.periods))};
  part.values = remainder_of(flat, trend, horizon);
  if (!positive || !part.takes_logarithms) return;
  std::vector<double> logs;
  for (const double v : y) logs.push_back(std::log(v));
  constexpr bool kGrowing = false;  // errors of logarithms do not grow with their level
  const Part::Curve& curve = part.log_curve.emplace(curve_of(logs, part.periods, kGrowing));
  part.logarithms = remainder_of(curve.flat, curve.trend, horizon);
}

/// Fits each form of smoothing to each curve. The threads share them, since a single series has many.
void fit_smoothing(std::vector<Part>& parts) {
  struct Task {
    Part::Curve& curve;
    std::size_t form;
  };
  std::vector<Task> tasks;
  for (Part& part : parts)
    for (std::optional<Part::Curve>* curve : {&part.curve, &part.log_curve}) {
      if (!*curve) continue;
      (*curve)->fitted.resize((*curve)->forms.size());
      for (std::size_t form = 0; form < (*curve)->forms.size(); ++form) tasks.push_back({**curve, form});
    }
  thread_pool().for_range(std::ssize(tasks), 1, [&](std::int64_t begin, std::int64_t) {
    const auto& [curve, form] = tasks[static_cast<std::size_t>(begin)];
    curve.fitted[form].emplace(curve.flat, curve.forms[form], curve.trend.degrees());
  });
}

AveragedSmoothing averaged(Part::Curve& curve) {
  std::vector<ExponentialSmoothing> fitted;
  for (std::optional<ExponentialSmoothing>& form : curve.fitted) fitted.push_back(std::move(*form));
  return AveragedSmoothing(std::move(fitted));
}

void forecast_by_smoothing(Part& part) {
  part.smoothing.emplace(averaged(*part.curve));
  part.methods[at(EndMethod::smoothing)] = {
      with_season(part.smoothing->forecast(part.horizon), part.curve->trend, part.y.size())};
  if (!part.log_curve) return;
  part.methods[at(EndMethod::logarithms)] = from_logarithms(
      with_season(averaged(*part.log_curve).forecast(part.horizon), part.log_curve->trend, part.y.size()));
}

/// A series and, where it is long enough, two of its first parts.
std::vector<Part> parts_of(const SeriesEnd& end, std::size_t number) {
  const auto last = std::span(end.y).last(std::min(end.y.size(), kMostFitted));
  const std::vector<double> y(last.begin(), last.end());
  constexpr std::int64_t kUsualHidden = 6, kFewest = 16;
  std::vector<Part> parts{{.series = number,
                           .y = y,
                           .truth = {},
                           .horizon = end.horizon,
                           .periods = periods_of(end, y),
                           .takes_logarithms = end.logarithms}};
  const std::int64_t season = whole_period(parts[0].periods);
  const std::int64_t hidden = std::min(end.horizon, std::max(season, kUsualHidden));
  for (std::int64_t count = 1; count <= 2; ++count) {
    std::int64_t size = std::ssize(y) - count * hidden;
    if (size < std::max(2 * season + 4, kFewest)) break;
    Part part{
        .series = number, .y = {}, .truth = {}, .horizon = hidden, .periods = {}, .takes_logarithms = end.logarithms};
    while (size > 0 && std::isnan(y[static_cast<std::size_t>(size - 1)])) --size;
    part.y.assign(y.begin(), y.begin() + size);
    part.truth.assign(y.begin() + size, y.begin() + std::min<std::int64_t>(size + hidden, std::ssize(y)));
    part.horizon = std::ssize(part.truth);
    const auto known = std::ranges::count_if(part.y, [](double v) { return !std::isnan(v); });
    if (known < kFewest / 2) break;
    parts.push_back(std::move(part));
  }
  return parts;
}

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

/// Asks the weights for the remainders and the values of all parts.
void ask_weights(const SeriesPredictor& predictor, std::vector<Part>& parts) {
  struct Asked {
    Part& part;
    EndMethod method;
    const Part::Remainder* of;  // null: the values themselves
  };
  std::vector<Series> questions;
  std::vector<Asked> asked;
  for (Part& part : parts) {
    questions.push_back(question_of(part.values.left, part.horizon));
    asked.push_back({part, EndMethod::remainder, &part.values});
    questions.push_back(question_of(part.y, part.horizon));
    asked.push_back({part, EndMethod::values, nullptr});
    if (!part.logarithms) continue;
    questions.push_back(question_of(part.logarithms->left, part.horizon));
    asked.push_back({part, EndMethod::log_remainder, &*part.logarithms});
  }
  const std::vector<SeriesPrediction> answers = predictor.predict(questions);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto& [part, method, of] = asked[i];
    GaussianPath path{answers[i].mean, answers[i].std};
    for (std::size_t h = 0; of && h < path.mean.size(); ++h) {
      path.mean[h] += of->regular[h];
      path.std[h] = std::sqrt(path.std[h] * path.std[h] + of->variance[h]);
    }
    part.methods[at(method)] =
        method == EndMethod::log_remainder ? from_logarithms(std::move(path)) : EndPath{std::move(path)};
  }
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// Shares by the scores of held-out parts. Methods without a forecast have none. Without scores logarithms have none
/// either, nor has the last value of a series without a season.
std::array<double, kEndMethods> shares_of(const Part& whole, std::span<const Part> held_out) {
  std::array<double, kEndMethods> shares = kUsualShares;
  for (std::size_t m = 0; m < kEndMethods; ++m) {
    const auto exists = [m](const Part& part) { return part.methods[m].exists(); };
    if (!exists(whole) || !std::ranges::all_of(held_out, exists)) shares[m] = 0;
  }
  double values = 0;  // of each method's score
  for (const Part& part : held_out)
    values += static_cast<double>(std::ranges::count_if(part.truth, [](double y) { return !std::isnan(y); }));
  std::vector<double> scores;  // of methods with a share: their mean CRPS
  for (std::size_t m = 0; m < kEndMethods; ++m) {
    if (shares[m] == 0) continue;
    double& score = scores.emplace_back();
    for (const Part& part : held_out) score += crps(part.methods[m], part.truth) / static_cast<double>(held_out.size());
  }
  const bool scored = !held_out.empty() && std::ranges::all_of(scores, [](double s) { return std::isfinite(s); });
  if (scored && std::ranges::max(scores) > 0) {
    const double middle = median_of(scores);
    for (double& score : scores) score = (values * score + kMedianValues * middle) / (values + kMedianValues);
    const double best = std::ranges::min(scores), tiny = kTiny * std::ranges::max(scores);
    for (std::size_t m = 0, k = 0; m < kEndMethods; ++m)
      if (shares[m] > 0) shares[m] *= std::pow((best + tiny) / (scores[k++] + tiny), kPower);
  } else {
    shares[at(EndMethod::logarithms)] = shares[at(EndMethod::log_remainder)] = 0;
    if (whole_period(whole.periods) == 1) shares[at(EndMethod::seasonal_naive)] = 0;
  }
  double sum = 0;
  for (const double share : shares) sum += share;
  for (double& share : shares) share /= sum;
  return shares;
}

/// Averages quantiles; deviations are multiplied by `width`.
EndPath combine(const Part& part, const std::array<double, kEndMethods>& shares, double width) {
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
double width_of(std::span<const Part> held_out, const std::array<double, kEndMethods>& shares) {
  constexpr double kMostSquare = 9, kMostValues = 5, kUnscoredWidth = 1.4;
  if (held_out.empty()) return kUnscoredWidth;
  double squares = kPriorValues * kUsualWidth * kUsualWidth, count = kPriorValues;
  for (const Part& part : held_out) {
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
                                                             "weights, remainder of logarithms"};
  return kNames[at(method)];
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
  std::vector<std::vector<Part>> of_series(ends.size());
  // Chunks of one: the threads share single series, parts and fits.
  thread_pool().for_range(std::ssize(ends), 1, [&](std::int64_t begin, std::int64_t) {
    const auto i = static_cast<std::size_t>(begin);
    const SeriesEnd& end = ends[i];
    const auto known = std::ranges::count_if(end.y, [](double v) { return !std::isnan(v); });
    check(known >= 3 && end.horizon >= 1 && !std::isnan(end.y.back()),
          "[forecast] a series of {} known values and a horizon of {} found, expected 3 and 1 or more", known,
          end.horizon);
    of_series[i] = parts_of(end, i);
  });
  std::vector<Part> parts;
  std::vector<std::size_t> begins;
  for (auto& some : of_series) {
    begins.push_back(parts.size());
    std::ranges::move(some, std::back_inserter(parts));
  }
  begins.push_back(parts.size());
  thread_pool().for_range(std::ssize(parts), 1, [&](std::int64_t begin, std::int64_t) {
    Part& part = parts[static_cast<std::size_t>(begin)];
    if (!part.truth.empty()) part.periods = periods_of(ends[part.series], part.y);
    prepare(part);
  });
  fit_smoothing(parts);
  std::ranges::for_each(parts, forecast_by_smoothing);
  ask_weights(predictor, parts);
  std::vector<EndForecast> forecasts;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    Part& whole = parts[begins[i]];
    const auto held_out = std::span(parts).subspan(begins[i] + 1, begins[i + 1] - begins[i] - 1);
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
