#include "models/prediction.h"

#include <algorithm>
#include <cmath>

#include "datasets/gaussian_mixture.h"
#include "datasets/gp/log_sum.h"
#include "datasets/scores.h"
#include "models/predictions/host.h"
#include "ops/concat/concat.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gaussian_log_density/gaussian_log_density.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"

namespace npzoo {

namespace {

Tensor standard_deviation(const Tensor& s, const StdForm& form) {
  switch (form.kind) {
    case StdForm::Kind::exp: return exp(s);
    case StdForm::Kind::softplus: return affine(softplus(s), 1 - form.floor, form.floor);
    case StdForm::Kind::half_log_variance: return affine(exp(affine(s, 0.5, 0)), 1 - form.floor, form.floor);
  }
  fail("[gaussian_head] unknown form of the standard deviation");
}

Shape of_targets(const Marginals& m) { return {m.mean.dim(1), m.mean.dim(2), m.mean.dim(3)}; }

/// Calls f(mixture, i) for value i of (B, Nt, Dy); marginals in float64 on the CPU.
template <class F>
void for_values(const Marginals& m, const F& f) {
  const auto means = m.mean.values<double>(), deviations = m.std.values<double>();
  const auto count = static_cast<std::size_t>(m.mean.dim(0)), all = count > 0 ? means.size() / count : 0;
  std::vector<double> mean(count), std(count);
  for (std::size_t i = 0; i < all; ++i) {
    for (std::size_t k = 0; k < count; ++k) {
      mean[k] = means[k * all + i];
      std[k] = deviations[k * all + i];
    }
    f(GaussianMixture{mean, std}, i);
  }
}

/// f(mixture, value of y) for each value.
template <class F>
Tensor of_values(const Marginals& marginals, const Tensor& y, const char* what, const F& f) {
  const Marginals m = on_host(marginals);
  const Tensor values = on_host(y);
  check(values.shape() == of_targets(m), "[{}] y {} found, expected {}", what, y.shape(), of_targets(m));
  Tensor out = Tensor::empty(values.shape(), DType::float64, Device::cpu);
  for_values(m, [&](const GaussianMixture& mixture, std::size_t i) {
    out.values<double>()[i] = f(mixture, values.values<double>()[i]);
  });
  return out;
}

}  // namespace

Marginals on_host(const Marginals& marginals) { return {on_host(marginals.mean), on_host(marginals.std)}; }

Moments moments(const Marginals& marginals) {
  const Marginals m = on_host(marginals);
  Moments result{Tensor::empty(of_targets(m), DType::float64, Device::cpu),
                 Tensor::empty(of_targets(m), DType::float64, Device::cpu)};
  for_values(m, [&](const GaussianMixture& mixture, std::size_t i) {
    const ValueMoments value = moments(mixture);
    result.mean.values<double>()[i] = value.mean;
    result.std.values<double>()[i] = value.std;
  });
  return result;
}

Tensor log_likelihood(const Marginals& marginals, const Tensor& y) {
  const Marginals m = on_host(marginals);
  const Tensor values = on_host(y);
  check(values.shape() == of_targets(m), "[log_likelihood] y {} found, expected {}", y.shape(), of_targets(m));
  const auto mean = m.mean.values<double>(), std = m.std.values<double>(), value = values.values<double>();
  const auto count = static_cast<std::size_t>(m.mean.dim(0)), width = static_cast<std::size_t>(values.dim(2));
  Tensor out = Tensor::empty({values.dim(0), values.dim(1)}, DType::float64, Device::cpu);
  const auto points = out.values<double>();
  for (std::size_t i = 0; i < points.size(); ++i) {
    LogSum density;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t first = k * value.size();
      double channels = 0;
      for (std::size_t c = i * width; c < (i + 1) * width; ++c)
        channels += log_normal_density(value[c], mean[first + c], std[first + c] * std[first + c]);
      density.add(channels);
    }
    points[i] = density.value() - std::log(static_cast<double>(count));
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
  Tensor out = Tensor::empty(of_targets(m), DType::float64, Device::cpu);
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
  const Tensor each = gaussian_log_density(broadcast_to(y, m.mean.shape()), m.mean, m.std);  // (K, B, Nt)
  return affine(logsumexp(each, 0), 1, -std::log(static_cast<double>(m.mean.dim(0))));
}

Tensor nll(const Prediction& prediction, const Tensor& y, const Tensor& weights) {
  const Tensor ll = prediction.log_likelihood(y);  // (B, Nt)
  if (!weights.defined()) return affine(mean(ll), -1, 0);
  return affine(mean(div(sum(mul(ll, weights), -1), sum(weights, -1))), -1, 0);
}

Moments gaussian_head(const Tensor& raw, const StdForm& form) {
  const std::int64_t dy = raw.dim(-1) / 2;
  const auto parts = split(raw, -1, {dy, dy});
  return {parts[0], standard_deviation(parts[1], form)};
}

}  // namespace npzoo
