#include "npzoo/models/predictions/sampled_functions.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "npzoo/datasets/gaussian_processes/log_sum.h"
#include "npzoo/datasets/scores.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/models/predictions/host.h"

namespace npzoo {

SampledFunctions::SampledFunctions(Moments functions) : functions_(std::move(functions)) {
  check(functions_.mean.rank() == 4 && functions_.mean.dim(0) >= 1,
        "[prediction] functions {} found, expected (K, B, Nt, Dy)", functions_.mean.shape());
}

Tensor SampledFunctions::joint_log_likelihood(const Tensor& y) const {
  const Marginals m = on_host(marginals());
  const Tensor values = on_host(y);
  check(values.shape() == m.mean.shape().without(0), "[prediction] y {} found, expected {}", y.shape(),
        m.mean.shape().without(0));
  const auto mean = m.mean.values<double>(), std = m.std.values<double>(), value = values.values<double>();
  const auto count = static_cast<std::size_t>(m.mean.dim(0)), tasks = static_cast<std::size_t>(values.dim(0));
  const std::size_t width = static_cast<std::size_t>(values.dim(1) * values.dim(2));
  Tensor joint = Tensor::empty({values.dim(0)}, DType::float64, Device::cpu);
  for (std::size_t b = 0; b < tasks; ++b) {
    LogSum density;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t first = k * tasks * width;
      double together = 0;
      for (std::size_t i = b * width; i < (b + 1) * width; ++i)
        together += log_normal_density(value[i], mean[first + i], std[first + i] * std[first + i]);
      density.add(together);
    }
    joint.values<double>()[b] = density.value() - std::log(static_cast<double>(count));
  }
  return joint;
}

Tensor SampledFunctions::choose(std::int64_t n, Draws& draws) const {
  const Shape& shape = functions_.mean.shape();
  return draws.integers(n, Tensor::full({shape[1]}, static_cast<double>(shape[0]), DType::int64), 1);
}

Tensor SampledFunctions::functions(std::int64_t n, Draws& draws) const {
  const Tensor means = on_host(functions_.mean), chosen = choose(n, draws);
  const std::int64_t tasks = means.dim(1), width = means.dim(2) * means.dim(3);
  Tensor y = Tensor::empty({n, tasks, means.dim(2), means.dim(3)}, DType::float64, Device::cpu);
  for (std::int64_t row = 0; row < n * tasks; ++row) {
    const std::int64_t from = chosen.values<std::int64_t>()[row] * tasks + row % tasks;
    std::copy_n(means.data<double>() + from * width, width, y.data<double>() + row * width);
  }
  return y;
}

Tensor SampledFunctions::sample(std::int64_t n, Draws& draws) const {
  const Marginals m = on_host(marginals());
  const std::int64_t tasks = m.mean.dim(1), width = m.mean.dim(2) * m.mean.dim(3);
  const Tensor chosen = choose(n, draws);
  Tensor y = draws.normal(n, tasks, {m.mean.dim(2), m.mean.dim(3)}, DType::float64, Device::cpu);
  const auto mean = m.mean.values<double>(), std = m.std.values<double>();
  const std::span<double> values = y.values<double>();
  for (std::int64_t row = 0; row < n * tasks; ++row) {
    throw_if_stopped();
    const std::int64_t from = (chosen.values<std::int64_t>()[row] * tasks + row % tasks) * width;
    for (std::int64_t i = 0; i < width; ++i)
      values[row * width + i] = mean[from + i] + std[from + i] * values[row * width + i];
  }
  return y;
}

DensityForms SampledFunctions::forms() const {
  const std::int64_t count = functions_.mean.dim(0);
  const std::string samples = std::to_string(count) + (count == 1 ? " sample" : " samples");
  return {samples, samples};
}

}  // namespace npzoo
