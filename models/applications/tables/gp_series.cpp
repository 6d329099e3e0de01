#include "npzoo/models/applications/tables/gp_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <mutex>
#include <numeric>

#include "npzoo/datasets/gaussian_mixture.h"
#include "npzoo/datasets/normal_distribution.h"
#include "npzoo/datasets/tables/sphere.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/models/applications/tables/row_distribution.h"

namespace npzoo {

void GpInputs::sort_covariates(std::span<const std::string> x_names) {
  order.resize(static_cast<std::size_t>(dim_x));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(std::span(order).last(static_cast<std::size_t>(covariates)), {},
                           [&](std::size_t column) { return x_names[column]; });
}

std::vector<double> GpInputs::operator()(std::span<const double> x) const {
  std::vector<double> sorted(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size() && !order.empty(); ++i) {
    const std::size_t d = i % order.size();
    sorted[i] = x[i - d + order[d]];
  }
  return lonlat ? on_sphere(sorted, static_cast<std::size_t>(dim_x)) : sorted;
}

std::size_t GpInputs::column(std::size_t d) const {
  const std::size_t at = lonlat ? (d < 3 ? d % 2 : d - 1) : d;
  return order.empty() ? at : order[at];
}

GpPoints GpInputs::shape() const {
  const std::size_t dims = static_cast<std::size_t>(dim_x) + (lonlat ? 1 : 0);
  GpPoints points{.dims = static_cast<std::int64_t>(dims)};
  std::vector<std::size_t> numbers;  // of the table's groups, in the order in which they appear
  for (std::size_t d = 0; d < dims; ++d) {
    const bool of_mean = d + static_cast<std::size_t>(covariates) >= dims, of_sphere = lonlat && d < 3;
    const std::size_t group = of_sphere          ? std::numeric_limits<std::size_t>::max()
                              : x_groups.empty() ? column(d)
                                                 : x_groups[column(d)];
    const auto at = std::ranges::find(numbers, group);
    const auto number = static_cast<std::size_t>(at - numbers.begin());
    if (at == numbers.end()) numbers.push_back(group);
    points.in_mean.push_back(of_mean);
    points.slope_groups.push_back(number);
    points.group_of.push_back(of_mean && !covariates_in_kernel ? kMeanOnly : number);
  }
  return points;
}

std::vector<std::string> GpInputs::names(std::span<const std::string> of_table) const {
  std::vector<std::string> all(of_table.begin(), of_table.end());
  for (std::size_t d = 0; d < order.size(); ++d) all[d] = of_table[order[d]];
  if (!lonlat) return all;
  const std::string place = all[0] + " and " + all[1];
  all.erase(all.begin(), all.begin() + 2);
  all.insert(all.begin(), 3, place);
  return all;
}

std::vector<NamedValue> named_values(const GpFit& fit, const GpInputs& inputs, std::span<const std::string> x_names) {
  using Kind = GpParameter::Kind;
  const std::vector<std::string> names = inputs.names(x_names);
  const std::vector<std::size_t> group_of = inputs.shape().group_of;
  const std::vector<NamedSlope> slopes = named_slopes(fit, inputs, x_names);
  std::vector<NamedValue> all;
  for (const auto& [parameter, value] : fit.values) {
    const std::string term = fit.kernel.terms.size() > 1 && parameter.kind != Kind::noise
                                 ? fmt::format(" of {}", GpKernel{{fit.kernel.terms[parameter.term]}}.text())
                                 : "";
    const auto input = std::ranges::find(group_of, parameter.group) - group_of.begin();
    switch (parameter.kind) {
      case Kind::scale: all.push_back({"scale" + term, value}); break;
      case Kind::lengthscale:
        all.push_back({fmt::format("lengthscale of {}{}", names[static_cast<std::size_t>(input)],
                                   term.empty() ? "" : " in" + term.substr(3)),
                       value});
        break;
      case Kind::period: all.push_back({"period" + term, value}); break;
      case Kind::roughness: all.push_back({"roughness" + term, value}); break;
      case Kind::slope: {
        const auto slope = std::ranges::find(fit.slopes, parameter.group, &GpSlope::group) - fit.slopes.begin();
        const auto& [name, effect, std, category] = slopes[static_cast<std::size_t>(slope)];
        all.push_back({"usual slope of " + covariate_name(name, category), value});
        break;
      }
      case Kind::noise: all.push_back({"noise", value}); break;
    }
  }
  return all;
}

std::string covariate_name(const std::string& column, bool category) {
  return category ? column.substr(0, column.find(" = ")) : column;
}

std::string NamedSlope::text() const {
  if (!category) return fmt::format("linear part: {:.5g} ± {:.2g} for each unit of {}", value, std, name);
  return fmt::format("linear part: {:.5g} ± {:.2g} where {}, from the mean of all categories", value, std, name);
}

std::vector<NamedSlope> named_slopes(const GpFit& fit, const GpInputs& inputs, std::span<const std::string> x_names) {
  const std::vector<std::string> names = inputs.names(x_names);
  const std::size_t count = fit.slopes.size();
  std::vector<NamedSlope> all;
  for (std::size_t k = 0; k < count; ++k) {
    const GpSlope& slope = fit.slopes[k];
    const std::size_t first = names.size() - static_cast<std::size_t>(inputs.covariates);
    const auto same = [&](const GpSlope& other) { return other.group == slope.group; };
    const bool category = slope.input >= first && std::ranges::count_if(fit.slopes, same) > 1;
    if (!category) {
      all.push_back({names[slope.input], slope.value, slope.std, false});
      continue;
    }
    std::vector<double> weights(count);  // of the slopes: their centers are the shares of the categories
    weights[k] = 1;
    for (std::size_t j = 0; j < count; ++j)
      if (same(fit.slopes[j])) weights[j] -= fit.slopes[j].center;
    double effect = 0, variance = 0;
    for (std::size_t i = 0; i < count; ++i) {
      effect += weights[i] * fit.slopes[i].value;
      for (std::size_t j = 0; j < count; ++j) variance += weights[i] * weights[j] * fit.slope_covariance[i * count + j];
    }
    all.push_back({names[slope.input], effect, std::sqrt(std::max(variance, 0.0)), true});
  }
  return all;
}

std::vector<std::string> describe_slopes(const GpFit& fit, const GpInputs& inputs,
                                         std::span<const std::string> x_names) {
  const std::vector<NamedSlope> slopes = named_slopes(fit, inputs, x_names);
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < slopes.size(); ++k)
    if (!slopes[k].category || fit.slopes[k].center > 0) lines.push_back(slopes[k].text());
  return lines;
}

std::vector<std::string> describe_fit(const GpFit& fit, const GpInputs& inputs, std::span<const std::string> x_names) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : named_values(fit, inputs, x_names))
    parts.push_back(fmt::format("{} {:.4g}", name, value));
  std::vector<std::string> lines{fmt::format("kernel: {}; {}", fit.kernel.text(), fmt::join(parts, ", "))};
  std::ranges::move(describe_slopes(fit, inputs, x_names), std::back_inserter(lines));
  return lines;
}

struct GpSeriesPredictor::Answer {
  SeriesPrediction prediction;
  GpFit fit;
  bool jointly = true, behind = false;
  std::int64_t copies = 0;
};

namespace {

/// Whether a target lies behind all points along the first of `dims` inputs.
bool any_behind(std::span<const double> x, std::span<const double> targets, std::size_t dims) {
  double last = -std::numeric_limits<double>::infinity(), furthest = last;
  for (std::size_t i = 0; i < x.size(); i += dims) last = std::max(last, x[i]);
  for (std::size_t i = 0; i < targets.size(); i += dims) furthest = std::max(furthest, targets[i]);
  return !x.empty() && furthest > last;
}

/// Points of a series, each once: a row that was written twice is no measurement without error.
struct DistinctPoints {
  std::vector<double> x, y;  // in the order of the series
  std::int64_t copies = 0;

  explicit DistinctPoints(const Series& s) {
    const std::size_t dims = s.y.empty() ? 0 : s.x.size() / s.y.size();
    const auto point = [&](std::size_t i) { return std::span(s.x).subspan(i * dims, dims); };
    const auto before = [&](std::size_t a, std::size_t b) {
      if (s.y[a] != s.y[b]) return s.y[a] < s.y[b];
      return std::ranges::lexicographical_compare(point(a), point(b));
    };
    std::vector<std::size_t> order(s.y.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, before);
    std::vector<bool> is_copy(order.size());
    for (std::size_t k = 1; k < order.size(); ++k) is_copy[order[k]] = !before(order[k - 1], order[k]);
    for (std::size_t i = 0; i < order.size(); ++i) {
      copies += is_copy[i];
      if (is_copy[i]) continue;
      x.insert(x.end(), point(i).begin(), point(i).end());
      y.push_back(s.y[i]);
    }
  }
};

void add_scores(std::span<const double> truth, SeriesPrediction& p) {
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double y = truth[i];
    const GaussianMixture one{{&p.mean[i], 1}, {&p.std[i], 1}};
    p.log_density.push_back(std::isnan(y) ? y : log_normal_density(y, p.mean[i], p.std[i] * p.std[i]));
    p.crps.push_back(std::isnan(y) ? y : crps(one, y));
    p.central_mass.push_back(std::isnan(y) ? y : central_mass(one, y));
  }
}

/// Turns figures of the transformed number into those of the value, and scores them.
void transform_figures(const ValueTransform& transform, std::span<const double> truth, SeriesPrediction& p) {
  for (std::vector<double>* numbers : {&p.quantiles, &p.samples})
    for (double& z : *numbers) z = transform.inverse(z);
  for (std::size_t i = 0; i < p.mean.size(); ++i) {
    const RowDistribution value{{p.mean[i], positive_std(p.std[i], p.mean[i])}, transform};
    if (!truth.empty()) {
      const double y = truth[i];
      p.log_density.push_back(std::isnan(y) ? y : log_density(transform, value.z.mean, value.z.std, y));
      p.crps.push_back(std::isnan(y) ? y : value.crps(y));
      p.central_mass.push_back(std::isnan(y) ? y : value.central_mass(y));
    }
    const ValueMoments moments = value.moments();
    p.mean[i] = moments.mean;
    p.std[i] = moments.std;
  }
}

}  // namespace

Standardisation GpSeriesPredictor::units_of(const Series& s) const {
  return standardise_by_context(s.x, s.y, options_.x_names, s.value_names, {.inputs = {0, 1}});
}

GpSeriesPredictor::Answer GpSeriesPredictor::answer(const Series& series, std::uint64_t number) const {
  const GpInputs& inputs = options_.inputs;
  const DistinctPoints distinct(series);
  const std::vector<double> x = inputs(distinct.x), targets = inputs(series.targets);
  GpPoints points = inputs.shape();
  points.x = x;
  points.y = distinct.y;
  GpOptions gp = options_.gp;
  if (series.usual) {
    gp.usual_mean = series.usual->values[0].shift;
    gp.usual_std = series.usual->values[0].scale;
  }
  const GaussianProcess process = GaussianProcess::fit(points, gp);
  GpFigures figures = process.predict(targets);
  Answer answer{.prediction = {}, .fit = process.found(), .copies = distinct.copies};
  answer.behind =
      inputs.dim_x - inputs.covariates == 1 && any_behind(x, targets, static_cast<std::size_t>(inputs.dim_x));
  SeriesPrediction& p = answer.prediction;
  p.units = leave_as_is(static_cast<std::size_t>(inputs.dim_x), 1, {.inputs = {-1e300, 1e300}});
  p.units.values[0].constant =
      series.y.size() > 1 && std::ranges::all_of(series.y, [&](double y) { return y == series.y[0]; });
  p.mean = std::move(figures.mean);
  p.std = std::move(figures.std);
  for (std::size_t i = 0; i < series.added_variance.size(); ++i)
    p.std[i] = std::sqrt(p.std[i] * p.std[i] + series.added_variance[i]);
  for (std::size_t i = 0; i < p.mean.size(); ++i)
    for (const double q : options_.quantiles) p.quantiles.push_back(p.mean[i] + p.std[i] * normal_quantile(q));
  if (options_.samples > 0) {
    Random random(options_.seed, number);
    p.samples = process.sample(targets, options_.samples, random);
    answer.jointly = process.draws_jointly(std::ssize(p.mean));
  }
  if (!series.transforms.empty() && series.transforms[0].active())
    transform_figures(series.transforms[0], series.truth, p);
  else
    add_scores(series.truth, p);
  return answer;
}

std::string GpSeriesPredictor::note_on_ends() const {
  const auto is_linear = [](const std::vector<GpFactor>& term) {
    return std::ranges::find(term, GpFactor::linear) != term.end();
  };
  if (!behind_ || std::ranges::any_of(fits_.front().kernel.terms, is_linear)) return "";
  const bool line = options_.gp.mean == GpMean::linear;
  return fmt::format(
      "after the last row a Gaussian process returns to its {}: growth and levels that wander are forecast better "
      "without --model gp{}",
      line ? "line" : "mean", line ? "" : ", a straight trend with --linear-mean");
}

void GpSeriesPredictor::predict(const Next& next, const Take& take) {
  constexpr std::size_t kHeld = 64;  // series that are worked on at the same time
  std::mutex told;
  for (bool more = true; more;) {
    throw_if_stopped();
    std::vector<Series> held;
    while (held.size() < kHeld && more) {
      std::optional<Series> one = next();
      more = one.has_value();
      if (more) held.push_back(std::move(*one));
    }
    std::vector<Answer> answers(held.size());
    const std::uint64_t first = fits_.size();
    thread_pool().for_range(std::ssize(held), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        answers[at] = answer(held[at], first + at);
        const std::lock_guard lock(told);
        if (options_.progress) options_.progress(std::ssize(answers[at].prediction.mean));
      }
    });
    for (Answer& answer : answers) {
      jointly_ = jointly_ && answer.jointly;
      behind_ = behind_ || answer.behind;
      copies_ += answer.copies;
      fits_.push_back(std::move(answer.fit));
      take(std::move(answer.prediction));
    }
  }
}

}  // namespace npzoo
