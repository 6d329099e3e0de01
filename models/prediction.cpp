#include "npzoo/models/prediction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "npzoo/datasets/gaussian_processes/log_sum.h"
#include "npzoo/datasets/scores.h"
#include "npzoo/models/predictions/host.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gaussian_log_density/gaussian_log_density.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor standard_deviation(const Tensor& s, const StdForm& form) {
  switch (form.kind) {
    case StdForm::Kind::exp: return form.added == 0 ? exp(s) : affine(exp(s), 1, form.added);
    case StdForm::Kind::softplus: return affine(softplus(s), 1 - form.floor, form.least());
    case StdForm::Kind::root_softplus: return affine(sqrt(softplus(s)), 1, form.least());
    case StdForm::Kind::half_log_variance: return affine(exp(affine(s, 0.5, 0)), 1 - form.floor, form.least());
  }
  fail("[gaussian_head] unknown form of the standard deviation");
}

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

/// f(mixture, value of y) for each value.
template <class F>
Tensor of_values(const Marginals& marginals, const Tensor& y, const char* what, const F& f) {
  const Marginals m = on_host(marginals);
  const Tensor values = checked_values(y, m, what);
  Tensor out = Tensor::empty(values.shape(), DType::float64, Device::cpu);
  for_values(m, [&](const GaussianMixture& mixture, std::size_t i) {
    out.values<double>()[i] = f(mixture, values.values<double>()[i]);
  });
  return out;
}

/// Returns the log-density of one Gaussian for channels of a target; `first` is their place in the marginals.
double log_density(const Marginals& m, std::span<const double> values, std::size_t first) {
  const auto mean = m.mean.values<double>(), std = m.std.values<double>();
  double channels = 0;
  for (std::size_t c = 0; c < values.size(); ++c)
    channels += log_normal_density(on_scale(m.scale, values[c]), mean[first + c], std[first + c] * std[first + c]);
  return channels;
}

}  // namespace

Marginals on_host(const Marginals& m) {
  return {on_host(m.mean), on_host(m.std), m.log_weight.defined() ? on_host(m.log_weight) : Tensor(), m.scale,
          m.labels};
}

Moments moments(const Marginals& marginals) {
  const Marginals m = on_host(marginals);
  Moments result{Tensor::empty(shape_of_values(m), DType::float64, Device::cpu),
                 Tensor::empty(shape_of_values(m), DType::float64, Device::cpu)};
  for_values(m, [&](const GaussianMixture& mixture, std::size_t i) {
    const ValueMoments value = moments(mixture);
    result.mean.values<double>()[i] = value.mean;
    result.std.values<double>()[i] = value.std;
  });
  return result;
}

Tensor log_likelihood(const Marginals& marginals, const Tensor& y) {
  const Marginals m = on_host(marginals);
  const Tensor checked = checked_values(y, m, "log_likelihood");
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
  return of_values(marginals, y, "cdf", [](const GaussianMixture& m, double value) { return cdf(m, value); });
}

Tensor central_mass(const Marginals& marginals, const Tensor& y) {
  return of_values(marginals, y, "central_mass",
                   [](const GaussianMixture& m, double value) { return central_mass(m, value); });
}

Tensor crps(const Marginals& marginals, const Tensor& y) {
  return of_values(marginals, y, "crps", [](const GaussianMixture& m, double value) { return crps(m, value); });
}

Tensor quantile(const Marginals& marginals, double p) {
  const Marginals m = on_host(marginals);
  Tensor out = Tensor::empty(shape_of_values(m), DType::float64, Device::cpu);
  for_values(m, [&](const GaussianMixture& mixture, std::size_t i) { out.values<double>()[i] = quantile(mixture, p); });
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
  if (!weights.defined()) return affine(mean(ll), -1, 0);
  return affine(mean(div(sum(mul(ll, weights), -1), totals.defined() ? totals : sum(weights, -1))), -1, 0);
}

Moments gaussian_head(const Tensor& raw, const StdForm& form) {
  const std::int64_t dy = raw.dim(-1) / 2;
  const auto parts = split(raw, -1, {dy, dy});
  return {parts[0], standard_deviation(parts[1], form)};
}

}  // namespace npzoo
