#include "npzoo/models/prediction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "npzoo/datasets/gaussian_processes/log_sum.h"
#include "npzoo/datasets/scores.h"
#include "npzoo/models/predictions/host.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gaussian_log_density/gaussian_log_density.h"
#include "npzoo/ops/mean_and_deviation/mean_and_deviation.h"
#include "npzoo/ops/mean_nll/mean_nll.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Returns the shape of the values of marginals.
Shape shape_of_values(const Marginals& m) { return {m.mean.dim(1), m.mean.dim(2), m.mean.dim(3)}; }

/// Those values of targets (B, Nt, Dy + labels).
Tensor values_in(const Tensor& y, const Marginals& m) { return m.labels == 0 ? y : slice(y, 2, 0, m.mean.dim(3)); }

/// On the CPU in float64.
Tensor checked_values(const Tensor& y, const Marginals& m, const char* what) {
  const Shape expected{m.mean.dim(1), m.mean.dim(2), m.mean.dim(3) + m.labels};
  check(y.shape() == expected, "[{}] y {} found, expected {}", what, y.shape(), expected);
  return values_in(on_host(y), m);
}

/// Calls f(mixture, i) for value i of (B, Nt, Dy); marginals in float64 on the CPU.
template <class F>
void for_values(const Marginals& m, const F& f) {
  const auto means = m.mean.values<double>(), deviations = m.std.values<double>();
  const auto count = static_cast<std::size_t>(m.mean.dim(0)), all = count > 0 ? means.size() / count : 0,
             width = static_cast<std::size_t>(m.mean.dim(3));
  std::vector<double> mean(count), std(count), weight(m.log_weight.defined() ? count : 0);
  for (std::size_t i = 0; i < all; ++i) {
    for (std::size_t k = 0; k < count; ++k) {
      mean[k] = means[k * all + i];
      std[k] = deviations[k * all + i];
    }
    for (std::size_t k = 0; k < weight.size(); ++k)
      weight[k] = std::exp(m.log_weight.values<double>()[(k * all + i) / width]);
    f(GaussianMixture{mean, std, weight, m.scale}, i);
  }
}

/// Calls f(parameters, i) for value i of (B, Nt, Dy) of another family; marginals in float64 on the CPU.
template <class F>
void for_parameters(const Marginals& m, const F& f) {
  const auto all = m.parameters.values<double>();
  const auto count = static_cast<std::size_t>(m.parameters.dim(0)), values = count > 0 ? all.size() / count : 0;
  std::vector<double> own(count);
  for (std::size_t i = 0; i < values; ++i) {
    for (std::size_t k = 0; k < count; ++k) own[k] = all[k * values + i];
    f(Distribution::Parameters(own), i);
  }
}

/// f(mixture, value of y) for each value, or g(distribution, parameters, value of y, its place).
template <class F, class G>
Tensor of_values(const Marginals& marginals, const Tensor& y, const char* what, const F& f, const G& g) {
  const Marginals m = on_host(marginals);
  const Tensor values = checked_values(y, m, what);
  Tensor out = Tensor::empty(values.shape(), DType::float64, Device::cpu);
  if (m.distribution) {
    for_parameters(m, [&](Distribution::Parameters p, std::size_t i) {
      out.values<double>()[i] = g(*m.distribution, p, values.values<double>()[i], i);
    });
    return out;
  }
  for_values(m, [&](const GaussianMixture& mixture, std::size_t i) {
    out.values<double>()[i] = f(mixture, values.values<double>()[i]);
  });
  return out;
}

/// A number from 0 to 1 that depends on the parameters and the place alone, and looks random (SplitMix64).
double share_of(Distribution::Parameters p, std::size_t place) {
  std::uint64_t state = place;
  for (const double parameter : p) {
    state += std::bit_cast<std::uint64_t>(parameter) + 0x9e3779b97f4a7c15U;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9U;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebU;
    state ^= state >> 31;
  }
  return static_cast<double>(state >> 11) * 0x1p-53;
}

/// Returns the log-density of one Gaussian for channels of a target; `first` is their place in the marginals.
double log_density(const Marginals& m, std::span<const double> values, std::size_t first) {
  const auto mean = m.mean.values<double>(), std = m.std.values<double>();
  double channels = 0;
  for (std::size_t c = 0; c < values.size(); ++c)
    channels += log_normal_density(on_scale(m.scale, values[c]), mean[first + c], std[first + c] * std[first + c]);
  return channels;
}

/// log p(y) of each value (B, Nt, Dy) of another family; both in float64 on the CPU.
Tensor log_densities(const Marginals& m, const Tensor& y) {
  Tensor out = Tensor::empty(y.shape(), DType::float64, Device::cpu);
  for_parameters(m, [&](Distribution::Parameters p, std::size_t i) {
    out.values<double>()[i] = m.distribution->log_density(p, y.values<double>()[i]);
  });
  return out;
}

/// (B, Nt, Dy) → (B, Nt).
Tensor sum_of_channels(const Tensor& x) {
  Tensor sums = Tensor::zeros({x.dim(0), x.dim(1)}, DType::float64, Device::cpu);
  for (std::size_t i = 0; i < x.values<double>().size(); ++i)
    sums.values<double>()[i / static_cast<std::size_t>(x.dim(2))] += x.values<double>()[i];
  return sums;
}

}  // namespace

Marginals on_host(const Marginals& m) {
  const auto there = [](const Tensor& x) { return x.defined() ? on_host(x) : Tensor(); };
  return {on_host(m.mean), on_host(m.std), there(m.log_weight), m.scale, m.labels, m.distribution, there(m.parameters)};
}

void check_gaussian(const Marginals& m, const char* where) {
  check(m.distribution == nullptr, "[{}] the model predicts by the likelihood {}, expected gaussian", where,
        m.distribution ? m.distribution->name() : "");
}

Moments moments(const Marginals& marginals) {
  const Marginals m = on_host(marginals);
  Moments result{Tensor::empty(shape_of_values(m), DType::float64, Device::cpu),
                 Tensor::empty(shape_of_values(m), DType::float64, Device::cpu)};
  const auto put = [&](const ValueMoments& value, std::size_t i) {
    result.mean.values<double>()[i] = value.mean;
    result.std.values<double>()[i] = value.std;
  };
  if (m.distribution)
    for_parameters(m, [&](Distribution::Parameters p, std::size_t i) { put(m.distribution->moments(p), i); });
  else
    for_values(m, [&](const GaussianMixture& mixture, std::size_t i) { put(moments(mixture), i); });
  return result;
}

Tensor log_likelihood(const Marginals& marginals, const Tensor& y) {
  const Marginals m = on_host(marginals);
  const Tensor checked = checked_values(y, m, "log_likelihood");
  if (m.distribution) return sum_of_channels(log_densities(m, checked));
  const std::span<const double> values = checked.values<double>();
  const auto count = static_cast<std::size_t>(m.mean.dim(0)), width = static_cast<std::size_t>(m.mean.dim(3));
  Tensor out = Tensor::empty({checked.dim(0), checked.dim(1)}, DType::float64, Device::cpu);
  const auto points = out.values<double>();
  const auto log_weight = m.log_weight.defined() ? m.log_weight.values<double>() : std::span<const double>();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::span<const double> target = values.subspan(i * width, width);
    LogSum density, weights;
    for (std::size_t k = 0; k < count; ++k) {
      const double weight = log_weight.empty() ? 0 : log_weight[k * points.size() + i];
      if (!log_weight.empty()) weights.add(weight);
      if (weight > -kInfinity) density.add(log_density(m, target, k * values.size() + i * width) + weight);
    }
    points[i] = density.value() - (log_weight.empty() ? std::log(static_cast<double>(count)) : weights.value());
    if (m.scale == Scale::logarithmic && points[i] > -kInfinity)
      for (const double value : target) points[i] -= std::log(value);
  }
  return out;
}

Tensor cdf(const Marginals& marginals, const Tensor& y) {
  return of_values(
      marginals, y, "cdf", [](const GaussianMixture& m, double value) { return cdf(m, value); },
      [](const Distribution& d, Distribution::Parameters p, double value, std::size_t) { return d.cdf(p, value); });
}

Tensor central_mass(const Marginals& marginals, const Tensor& y) {
  return of_values(
      marginals, y, "central_mass", [](const GaussianMixture& m, double value) { return central_mass(m, value); },
      [](const Distribution& d, Distribution::Parameters p, double value, std::size_t place) {
        return central_mass(d, p, value, share_of(p, place));
      });
}

Tensor crps(const Marginals& marginals, const Tensor& y) {
  return of_values(
      marginals, y, "crps", [](const GaussianMixture& m, double value) { return crps(m, value); },
      [](const Distribution& d, Distribution::Parameters p, double value, std::size_t) { return d.crps(p, value); });
}

Tensor quantile(const Marginals& marginals, double p) {
  const Marginals m = on_host(marginals);
  Tensor out = Tensor::empty(shape_of_values(m), DType::float64, Device::cpu);
  const auto values = out.values<double>();
  if (m.distribution)
    for_parameters(m,
                   [&](Distribution::Parameters own, std::size_t i) { values[i] = m.distribution->quantile(own, p); });
  else
    for_values(m, [&](const GaussianMixture& mixture, std::size_t i) { values[i] = quantile(mixture, p); });
  return out;
}

Tensor sum_of_points(const Tensor& x) {
  const Tensor here = on_host(x);
  Tensor sums = Tensor::zeros({here.dim(0)}, DType::float64, Device::cpu);
  const auto values = here.values<double>();
  for (std::size_t i = 0; i < values.size(); ++i)
    sums.values<double>()[i / static_cast<std::size_t>(here.dim(1))] += values[i];
  return sums;
}

Tensor Prediction::log_likelihood(const Tensor& y) const {
  const Marginals m = marginals();
  Tensor values = values_in(y, m);  // (B, Nt, Dy)
  if (m.scale == Scale::logarithmic) values = clamp(log(values), kLeastLogarithm, kInfinity);
  Tensor each = gaussian_log_density(broadcast_to(values, m.mean.shape()), m.mean, m.std);  // (K, B, Nt)
  if (m.log_weight.defined()) each = add(each, m.log_weight);
  const Tensor all = logsumexp(each, 0);  // (B, Nt)
  const Tensor density = m.log_weight.defined() ? all : affine(all, 1, -std::log(static_cast<double>(m.mean.dim(0))));
  return m.scale == Scale::linear ? density : sub(density, sum(values, -1));
}

Tensor nll(const Tensor& ll, const Tensor& weights, const Tensor& totals) {
  // Weights that were joined with recorded values are still constants.
  return mean_nll(ll, weights.detach(), totals.detach());
}

Tensor standard_deviation(const Tensor& s, const StdForm& form) {
  switch (form.kind) {
    case StdForm::Kind::exp: return form.added == 0 ? exp(s) : affine(exp(s), 1, form.added);
    case StdForm::Kind::softplus: return affine(softplus(s), 1 - form.floor, form.least());
    case StdForm::Kind::root_softplus: return affine(sqrt(softplus(s)), 1, form.least());
    case StdForm::Kind::half_log_variance: return affine(exp(affine(s, 0.5, 0)), 1 - form.floor, form.least());
  }
  fail("[gaussian_head] unknown form of the standard deviation");
}

namespace {

DeviationForm deviation_form(const StdForm& form) {
  const double least = form.least();
  switch (form.kind) {
    case StdForm::Kind::exp: return {DeviationCurve::exp, 1, form.added};
    case StdForm::Kind::softplus: return {DeviationCurve::softplus, 1 - form.floor, least};
    case StdForm::Kind::root_softplus: return {DeviationCurve::root_softplus, 1, least};
    case StdForm::Kind::half_log_variance: return {DeviationCurve::half_exp, 1 - form.floor, least};
  }
  fail("[gaussian_head] unknown form of the standard deviation");
}

}  // namespace

Moments gaussian_head(const Tensor& raw, const StdForm& form) {
  auto [mean, std] = mean_and_deviation(raw, deviation_form(form));
  return {std::move(mean), std::move(std)};
}

}  // namespace npzoo
