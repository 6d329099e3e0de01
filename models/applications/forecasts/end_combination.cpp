#include "npzoo/models/applications/forecasts/end_combination.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace npzoo {

namespace {

/// Averaged deviations are too small on most development series: the numbers that methods are fitted by are not known
/// exactly. Held-out errors of other series change this factor. Their mean square, to which `kUsualValues` errors of
/// size 1 are added, has a power below 1, since methods are chosen by the same errors. The result counts as
/// `kPriorValues` errors beside those of the series itself.
constexpr double kUsualWidth = 1.1, kMostWidth = 1.15, kOthersPower = 0.4, kUsualValues = 20, kPriorValues = 20;
/// A share falls with this power of its method's score. The score is drawn to what other series promise, which counts
/// as `kAlone` held-out values, and with many other series as `kTogether` more. `kTiny` of the worst score is added to
/// each: perfect scores are chance.
constexpr double kPower = 5, kAlone = 4, kTogether = 20, kManySeries = 20, kTiny = 1e-3;

using Numbers = std::array<double, kEndMethods>;  // by EndMethod

/// Shares before scores: a short part that is held out cannot show which methods are good far ahead. Methods without a
/// forecast have none.
Numbers usual_shares(const EndPart& whole, std::span<const EndPart> held_out) {
  Numbers shares{1, 0.5, 0.5, 0.5, 1, 1, 1, 0.5, 0.5};
  if (whole_period(whole.periods) == 1) {
    shares[index_of(EndMethod::smoothing)] = 1.5;
    shares[index_of(EndMethod::drift)] = 2;
  }
  const double trust = trust_in_profile(whole);
  shares[index_of(EndMethod::level_profile)] *= trust;
  for (const EndMethod method : {EndMethod::drift, EndMethod::seasonal_naive, EndMethod::values})
    shares[index_of(method)] /= trust;
  for (std::size_t m = 0; m < kEndMethods; ++m) {
    const auto exists = [m](const EndPart& part) { return part.methods[m].exists(); };
    if (!exists(whole) || !std::ranges::all_of(held_out, exists)) shares[m] = 0;
  }
  return shares;
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// How good the methods of a series are on its held-out parts.
struct EndScores {
  Numbers usual{};    // shares before scores
  Numbers score{};    // mean CRPS of methods with a share
  double values = 0;  // that were held out
  double middle = 0;  // median of the scores; 0: there are no scores
  double tiny = 0;

  EndScores(const EndPart& whole, std::span<const EndPart> held_out) : usual(usual_shares(whole, held_out)) {
    for (const EndPart& part : held_out)
      values += static_cast<double>(std::ranges::count_if(part.truth, [](double y) { return !std::isnan(y); }));
    std::vector<double> all;
    for (std::size_t m = 0; m < kEndMethods; ++m) {
      if (usual[m] == 0) continue;
      for (const EndPart& part : held_out)
        score[m] += crps(part.methods[m], part.truth) / static_cast<double>(held_out.size());
      all.push_back(score[m]);
    }
    if (held_out.empty() || !std::ranges::all_of(all, [](double s) { return std::isfinite(s); })) return;
    tiny = kTiny * std::ranges::max(all);
    if (tiny > 0) middle = median_of(all);
  }
  bool exist() const { return tiny > 0; }
  /// The logarithm of a score, divided by the median.
  double logarithm(std::size_t m) const {
    constexpr double kMost = 1.5;
    return std::clamp(std::log((score[m] + tiny) / (middle + tiny)), -kMost, kMost);
  }
};

/// How good methods are on other series: mean logarithms of their scores, where `kMedianSeries` have the median.
class SharedScores {
 public:
  /// Adds a series, or takes it away again with a sign of −1.
  void add(const EndScores& s, double sign = 1) {
    for (std::size_t m = 0; m < kEndMethods; ++m) {
      if (!s.exist() || s.usual[m] == 0) continue;
      sums_[m] += sign * s.logarithm(m);
      counts_[m] += sign;
    }
  }
  double count(std::size_t m) const { return counts_[m]; }
  double mean(std::size_t m) const {
    constexpr double kMedianSeries = 8;
    return sums_[m] / (counts_[m] + kMedianSeries);
  }

 private:
  Numbers sums_{}, counts_{};
};

/// The score of a method, drawn to what those of other series promise.
double drawn_score(const EndScores& s, const SharedScores& others, std::size_t m) {
  const double series = others.count(m), prior = kAlone + kTogether * series / (series + kManySeries);
  return (s.values * s.score[m] + prior * s.middle * std::exp(others.mean(m))) / (s.values + prior);
}

/// Shares by scores. Without scores those of other series decide, logarithms have no share, nor has the last value of a
/// series without a season.
Numbers shares_of(const EndPart& whole, const EndScores& s, const SharedScores& others) {
  Numbers shares = s.usual;
  if (s.exist()) {
    Numbers drawn{};
    double best = std::numeric_limits<double>::infinity(), worst = 0;
    for (std::size_t m = 0; m < kEndMethods; ++m) {
      if (shares[m] == 0) continue;
      drawn[m] = drawn_score(s, others, m);
      best = std::min(best, drawn[m]);
      worst = std::max(worst, drawn[m]);
    }
    for (std::size_t m = 0; m < kEndMethods; ++m)
      shares[m] *= std::pow((best + kTiny * worst) / (drawn[m] + kTiny * worst), kPower);
  } else {
    constexpr double kUnscoredPower = 7.5;
    for (std::size_t m = 0; m < kEndMethods; ++m) shares[m] *= std::exp(-kUnscoredPower * others.mean(m));
    shares[index_of(EndMethod::logarithms)] = shares[index_of(EndMethod::log_remainder)] = 0;
    if (whole_period(whole.periods) == 1) shares[index_of(EndMethod::seasonal_naive)] = 0;
  }
  double sum = 0;
  for (const double share : shares) sum += share;
  for (double& share : shares) share /= sum;
  return shares;
}

/// Squared errors of forecasts in their deviations. Errors of neighbouring steps are alike, so that each part counts as
/// few of them.
struct SquaredErrors {
  double squares = 0, count = 0;

  SquaredErrors() = default;
  SquaredErrors(std::span<const EndPart> held_out, const Numbers& shares) {
    constexpr double kMostSquare = 9, kMostValues = 5;
    for (const EndPart& part : held_out) {
      const EndPath path = combine(part, {shares, 1});
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
  }
};

/// The factor of deviations that suits the errors on held-out parts.
double width_of(const SquaredErrors& own, const SquaredErrors& others) {
  const double size = (others.squares + kUsualValues) / (others.count + kUsualValues);
  const double usual = kUsualWidth * kUsualWidth * std::pow(size, kOthersPower);
  const double square = (own.squares + kPriorValues * usual) / (own.count + kPriorValues);
  return std::min(std::sqrt(square), std::max(kMostWidth, std::sqrt(usual)));
}

}  // namespace

double trust_in_profile(const EndPart& whole) {
  constexpr double kFewSeasons = 16, kMostTrust = 8;
  if (!whole.methods[index_of(EndMethod::level_profile)].exists()) return 1;
  const auto seasons = static_cast<double>(whole.y.size()) / static_cast<double>(whole_period(whole.periods));
  return std::clamp(seasons / kFewSeasons, 1.0, kMostTrust);
}

EndPath combine(const EndPart& part, const EndCombination& combination) {
  const std::vector<double> none(static_cast<std::size_t>(part.horizon));
  EndPath path{.gaussian = {none, none}};
  for (std::size_t m = 0; m < kEndMethods; ++m) {
    const double share = combination.shares[m];
    if (share == 0) continue;
    const EndPath& method = part.methods[m];
    for (std::size_t h = 0; h < none.size(); ++h) {
      path.gaussian.mean[h] += share * method.gaussian.mean[h];
      path.gaussian.std[h] += share * combination.width * method.gaussian.std[h];
    }
    for (EndPath::LogNormal one : method.log_normal) {
      one.share *= share;
      for (double& std : one.logarithm.std) std *= combination.width;
      path.log_normal.push_back(std::move(one));
    }
  }
  return path;
}

std::vector<EndCombination> choose_combinations(std::span<const std::vector<EndPart>> series) {
  constexpr double kUnscoredWidth =
      1.6;  // of a series too short to hold anything out: methods were fitted to few values
  std::vector<EndScores> scores;
  std::map<std::int64_t, SharedScores> by_season;
  for (const std::vector<EndPart>& parts : series) {
    scores.emplace_back(parts.front(), std::span(parts).subspan(1));
    by_season[whole_period(parts.front().periods)].add(scores.back());
  }
  std::vector<EndCombination> all;
  std::vector<SquaredErrors> errors;
  SquaredErrors sum;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const EndPart& whole = series[i].front();
    SharedScores others = by_season[whole_period(whole.periods)];
    others.add(scores[i], -1);
    all.push_back({shares_of(whole, scores[i], others)});
    errors.emplace_back(std::span(series[i]).subspan(1), all.back().shares);
    sum.squares += errors.back().squares;
    sum.count += errors.back().count;
  }
  for (std::size_t i = 0; i < series.size(); ++i) {
    SquaredErrors others;
    others.squares = sum.squares - errors[i].squares;
    others.count = sum.count - errors[i].count;
    all[i].width = series[i].size() == 1 ? kUnscoredWidth : width_of(errors[i], others);
  }
  return all;
}

}  // namespace npzoo
