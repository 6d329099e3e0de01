#include "npzoo/models/predictions/mixture.h"

#include "npzoo/models/predictions/components.h"
#include "npzoo/models/predictions/host.h"

namespace npzoo {

Mixture::Mixture(Marginals components) : components_(std::move(components)) {
  const Shape& shape = components_.mean.shape();
  check(shape.rank() == 4 && shape[0] >= 1, "[prediction] components {} found, expected (K, B, Nt, Dy)", shape);
  check(components_.std.shape() == shape && components_.log_weight.shape() == shape.without(3),
        "[prediction] standard deviations {} and weights {} of components found, expected {} and {}",
        components_.std.shape(), components_.log_weight.shape(), shape, shape.without(3));
  check(components_.scale == Scale::linear && components_.labels == 0,
        "[prediction] components on another scale, or with labels, found, expected values");
}

Tensor Mixture::joint_log_likelihood(const Tensor& y) const {
  return sum_of_points(npzoo::log_likelihood(components_, y));
}

Tensor Mixture::sample(std::int64_t n, Draws& draws) const {
  const Tensor mean = on_host(components_.mean), std = on_host(components_.std),
               weight = on_host(components_.log_weight);
  const std::int64_t tasks = mean.dim(1), targets = mean.dim(2);
  const auto count = static_cast<std::size_t>(mean.dim(0)), width = static_cast<std::size_t>(mean.dim(3)),
             all = static_cast<std::size_t>(tasks * targets);
  const Tensor which = draws.uniform(n, tasks, {targets}, DType::float64, Device::cpu);  // (n, B, Nt)
  Tensor y = draws.normal(n, tasks, {targets, mean.dim(3)}, DType::float64, Device::cpu);
  const std::span<double> values = y.values<double>();
  std::vector<double> weights(count);
  for (std::size_t i = 0; i < which.values<double>().size(); ++i) {
    for (std::size_t k = 0; k < count; ++k) weights[k] = weight.values<double>()[k * all + i % all];
    const std::size_t first = (choose(weights, which.values<double>()[i]) * all + i % all) * width;
    for (std::size_t d = 0; d < width; ++d)
      values[i * width + d] =
          mean.values<double>()[first + d] + std.values<double>()[first + d] * values[i * width + d];
  }
  return y;
}

}  // namespace npzoo
