#include "npzoo/models/predictions/joint_gaussian.h"

#include <cmath>

#include "npzoo/engine/cancellation.h"
#include "npzoo/models/predictions/host.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/joint_log_density/joint_log_density.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

JointGaussian::JointGaussian(Tensor mean, Tensor factor, Tensor diagonal)
    : mean_(std::move(mean)), factor_(std::move(factor)), diagonal_(std::move(diagonal)) {
  const std::int64_t batch = mean_.dim(0), values = mean_.dim(1) * mean_.dim(2);
  const std::int64_t rank = diagonal_.defined() ? factor_.dim(-1) : values;
  check(factor_.shape() == Shape{batch, values, rank}, "[prediction] factor {} found, expected {}", factor_.shape(),
        Shape{batch, values, rank});
  check(!diagonal_.defined() || diagonal_.shape() == Shape{batch, values},
        "[prediction] diagonal {} found, expected {}", diagonal_.shape(), Shape{batch, values});
}

Marginals JointGaussian::marginals() const {
  const Shape one{1, mean_.dim(0), mean_.dim(1), mean_.dim(2)};
  Tensor variance = sum(square(factor_), -1);  // (B, M)
  if (diagonal_.defined()) variance = add(variance, diagonal_);
  return {reshape(mean_, one), reshape(sqrt(variance), one)};
}

Tensor JointGaussian::log_density(const Tensor& y, const Tensor& lengths) const {
  check(y.shape() == mean_.shape(), "[prediction] y {} found, expected {}", y.shape(), mean_.shape());
  const Tensor error = sub(y, mean_);
  return diagonal_.defined() ? low_rank_log_density(error, factor_, diagonal_, lengths)
                             : cholesky_log_density(error, factor_, lengths);
}

Tensor JointGaussian::joint_log_likelihood(const Tensor& y) const {
  const JointGaussian here(on_host(mean_), on_host(factor_), diagonal_.defined() ? on_host(diagonal_) : diagonal_);
  return here.log_density(on_host(y));
}

Tensor JointGaussian::sample(std::int64_t n, Draws& draws) const {
  const Tensor means = on_host(mean_), factors = on_host(factor_), diagonals = on_host(diagonal_);
  const std::int64_t batch = mean_.dim(0), m = factor_.dim(1), rank = factor_.dim(2);
  const Tensor z = draws.normal(n, batch, {rank}, DType::float64, Device::cpu);
  Tensor y = Tensor::zeros({n, batch, mean_.dim(1), mean_.dim(2)}, DType::float64, Device::cpu);
  if (diagonal_.defined()) y = draws.normal(n, batch, {mean_.dim(1), mean_.dim(2)}, DType::float64, Device::cpu);
  const std::span<double> values = y.values<double>();
  const auto white = z.values<double>(), factor = factors.values<double>();
  for (std::int64_t row = 0; row < n * batch; ++row) {
    throw_if_stopped();
    const std::int64_t b = row % batch;
    for (std::int64_t i = 0; i < m; ++i) {
      double& value = values[row * m + i];
      if (diagonal_.defined()) value *= std::sqrt(diagonals.values<double>()[b * m + i]);
      value += means.values<double>()[b * m + i];
      for (std::int64_t r = 0; r < rank; ++r) value += factor[(b * m + i) * rank + r] * white[row * rank + r];
    }
  }
  return y;
}

}  // namespace npzoo
