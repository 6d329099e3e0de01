#include "npzoo/models/predictions/independent.h"

#include "npzoo/models/predictions/host.h"
#include "npzoo/ops/gaussian_log_density/gaussian_log_density.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

Marginals Independent::marginals() const {
  const auto one = [](const Tensor& x) { return reshape(x, {1, x.dim(0), x.dim(1), x.dim(2)}); };
  return {one(gaussians_.mean), one(gaussians_.std)};
}

Tensor Independent::log_likelihood(const Tensor& y) const {
  return gaussian_log_density(y, gaussians_.mean, gaussians_.std);
}

Tensor Independent::joint_log_likelihood(const Tensor& y) const {
  return sum_of_points(npzoo::log_likelihood(marginals(), y));
}

Tensor Independent::sample(std::int64_t n, Draws& draws) const {
  const Tensor mean = on_host(gaussians_.mean), std = on_host(gaussians_.std);
  Tensor y = draws.normal(n, mean.dim(0), {mean.dim(1), mean.dim(2)}, DType::float64, Device::cpu);
  const auto means = mean.values<double>(), deviations = std.values<double>();
  const std::span<double> values = y.values<double>();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = means[i % means.size()] + deviations[i % means.size()] * values[i];
  return y;
}

}  // namespace npzoo
