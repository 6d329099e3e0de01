#include "npzoo/models/applications/tables/changing_noise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "npzoo/datasets/series/local_scale.h"

namespace npzoo {

namespace {

constexpr std::size_t kMostPoints = 1000, kParts = 10;

/// The points of a series in the order of its input, then of its values.
Series in_order(const Series& series) {
  std::vector<std::size_t> order(series.x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(series.x[i], series.y[i]); });
  Series sorted = series;
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted.x[i] = series.x[order[i]];
    sorted.y[i] = series.y[order[i]];
  }
  sorted.truth.clear();
  sorted.added_variance.clear();
  return sorted;
}

bool may_change(const Series& series) {
  return series.x.size() == series.y.size() && series.x.size() <= kMostPoints && series.value_names.size() == 1 &&
         std::ranges::none_of(series.transforms, &ValueTransform::active);
}

/// The factor of deviations at each target of a series.
struct Factors {
  std::vector<double> at{};
  double ratio = 1;

  void apply(SeriesPrediction& said) const {
    said.noise_ratio = ratio;
    const auto spread = [&](std::vector<double>& figures) {
      const std::size_t each = figures.size() / at.size();
      for (std::size_t i = 0; i < figures.size(); ++i)
        figures[i] = said.mean[i / each] + at[i / each] * (figures[i] - said.mean[i / each]);
    };
    spread(said.quantiles);
    spread(said.samples);
    for (std::size_t i = 0; i < at.size(); ++i) said.std[i] *= at[i];
    for (std::size_t i = 0; i < said.crps.size(); ++i) said.crps[i] *= at[i];
    for (std::size_t i = 0; i < said.log_density.size(); ++i) said.log_density[i] -= std::log(at[i]);
  }
};

/// Errors of points that a method predicts from the others, and their places in order.
struct Errors {
  std::vector<double> x, plain, of_deviation;  // the last: over the deviations
};

Errors errors_of_hidden(SeriesMethod& trials, const Series& sorted) {
  std::vector<Series> questions(kParts, sorted);
  std::vector<std::vector<double>> truth(kParts);
  for (std::size_t part = 0; part < kParts; ++part) {
    Series& q = questions[part];
    q.x.clear();
    q.y.clear();
    q.targets.clear();
    for (std::size_t i = 0; i < sorted.x.size(); ++i) {
      const bool hidden = i % kParts == part && i > 0 && i + 1 < sorted.x.size();
      (hidden ? q.targets : q.x).push_back(sorted.x[i]);
      (hidden ? truth[part] : q.y).push_back(sorted.y[i]);
    }
  }
  std::vector<SeriesPrediction> said;
  std::size_t given = 0;
  trials.predict([&] { return given < kParts ? std::optional(questions[given++]) : std::nullopt; },
                 [&](SeriesPrediction one) { said.push_back(std::move(one)); });
  Errors errors;
  for (std::size_t i = 1; i + 1 < sorted.x.size(); ++i) {
    const SeriesPrediction& one = said[i % kParts];
    const std::size_t k = i % kParts == 0 ? i / kParts - 1 : i / kParts;
    errors.x.push_back(sorted.x[i]);
    errors.plain.push_back(truth[i % kParts][k] - one.mean[k]);
    errors.of_deviation.push_back(errors.plain.back() / one.std[k]);
  }
  return errors;
}

SeriesPrediction moments_of(SeriesMethod& trials, const Series& series) {
  std::optional<Series> question = series;
  question->truth.clear();
  question->added_variance.clear();
  SeriesPrediction moments;
  trials.predict([&] { return std::exchange(question, {}); },
                 [&](SeriesPrediction said) { moments = std::move(said); });
  return moments;
}

/// A deviation is not made smaller than errors are beside it: with all points known it may be right although it was too
/// large with some hidden.
Factors factors_of(const LocalScale& of_deviation, const LocalScale& size, const Series& series,
                   const SeriesPrediction& moments) {
  Factors factors;
  for (std::size_t i = 0; i < series.targets.size(); ++i) {
    const double target = series.targets[i];
    factors.at.push_back(std::max(of_deviation.at(target), std::min(1.0, size.at(target) / moments.std[i])));
  }
  const auto [least, most] = std::ranges::minmax(factors.at);
  factors.ratio = most / least;
  return factors;
}

/// Changes a series whose noise changes to the question that the method is asked instead.
std::optional<Factors> follow_noise(SeriesMethod& trials, Series& series) {
  if (!may_change(series) || series.targets.empty()) return {};
  const Series sorted = in_order(series);
  if (sorted.x.size() < 3) return {};
  const std::span<const double> inner = std::span(sorted.x).subspan(1, sorted.x.size() - 2);
  if (!find_local_scale(inner, errors_beside_neighbours(sorted.x, sorted.y))) return {};
  const Errors errors = errors_of_hidden(trials, sorted);
  if (!std::ranges::all_of(errors.of_deviation, [](double z) { return std::isfinite(z); })) return {};
  const std::optional<LocalScale> scale = find_local_scale(errors.x, errors.of_deviation);
  if (!scale) return {};
  const SeriesPrediction moments = moments_of(trials, series);
  const Factors factors = factors_of(*scale, LocalScale(errors.x, errors.plain, scale->reach()), series, moments);
  for (std::size_t i = 0; i < series.truth.size(); ++i)
    series.truth[i] = moments.mean[i] + (series.truth[i] - moments.mean[i]) / factors.at[i];
  for (std::size_t i = 0; i < series.added_variance.size(); ++i)
    series.added_variance[i] /= factors.at[i] * factors.at[i];
  return factors;
}

}  // namespace

void ChangingNoise::predict(const Next& next, const Take& take) {
  std::deque<std::optional<Factors>> factors;  // of series whose answers are not there yet
  method_.predict(
      [&] {
        std::optional<Series> series = next();
        if (!series) return series;
        factors.push_back(follow_noise(trials_, *series));
        return series;
      },
      [&](SeriesPrediction said) {
        if (factors.front()) factors.front()->apply(said);
        factors.pop_front();
        take(std::move(said));
      });
}

}  // namespace npzoo
