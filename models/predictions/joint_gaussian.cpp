#include "models/predictions/joint_gaussian.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "datasets/gp/cholesky.h"
#include "models/predictions/host.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"

namespace npzoo {

namespace {

using Row = std::span<const double>;

/// −½ (error' Σ⁻¹ error + log det Σ + M log 2π).
double log_density(double square, double log_determinant, std::size_t values) {
  return -0.5 * (square + log_determinant + static_cast<double>(values) * std::log(2 * std::numbers::pi));
}

/// Σ = L Lᵀ.
double cholesky_log_density(Row error, Row factor) {
  const std::size_t m = error.size();
  std::vector<double> white(m);  // L⁻¹ error
  double square = 0, log_determinant = 0;
  for (std::size_t i = 0; i < m; ++i) {
    double rest = error[i];
    for (std::size_t j = 0; j < i; ++j) rest -= factor[i * m + j] * white[j];
    white[i] = rest / factor[i * m + i];
    square += white[i] * white[i];
    log_determinant += 2 * std::log(std::abs(factor[i * m + i]));
  }
  return log_density(square, log_determinant, m);
}

/// Σ = F Fᵀ + D: Σ⁻¹ = D⁻¹ − D⁻¹ F C⁻¹ Fᵀ D⁻¹ and det Σ = det D · det C, where C = I + Fᵀ D⁻¹ F.
double low_rank_log_density(Row error, Row factor, Row diagonal) {
  const std::size_t m = error.size(), rank = m > 0 ? factor.size() / m : 0;
  std::vector<double> capacitance(rank * rank), projected(rank);  // C, Fᵀ D⁻¹ error
  for (std::size_t i = 0; i < rank; ++i) capacitance[i * rank + i] = 1;
  double square = 0, log_determinant = 0;
  for (std::size_t v = 0; v < m; ++v) {
    const Row row = factor.subspan(v * rank, rank);
    for (std::size_t i = 0; i < rank; ++i) {
      projected[i] += row[i] * error[v] / diagonal[v];
      for (std::size_t j = 0; j <= i; ++j) capacitance[i * rank + j] += row[i] * row[j] / diagonal[v];
    }
    square += error[v] * error[v] / diagonal[v];
    log_determinant += std::log(diagonal[v]);
  }
  const Cholesky c(std::move(capacitance), static_cast<std::int64_t>(rank));
  c.solve_lower(projected);
  for (const double x : projected) square -= x * x;
  return log_density(square, log_determinant + c.log_determinant(), m);
}

}  // namespace

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

Tensor JointGaussian::joint_log_likelihood(const Tensor& y) const {
  check(y.shape() == mean_.shape(), "[prediction] y {} found, expected {}", y.shape(), mean_.shape());
  const Tensor values = on_host(y), means = on_host(mean_), factors = on_host(factor_), diagonals = on_host(diagonal_);
  const auto batch = static_cast<std::size_t>(mean_.dim(0)), m = static_cast<std::size_t>(factor_.dim(1)),
             rank = static_cast<std::size_t>(factor_.dim(2));
  Tensor joint = Tensor::empty({mean_.dim(0)}, DType::float64, Device::cpu);
  std::vector<double> error(m);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < m; ++i)
      error[i] = values.values<double>()[b * m + i] - means.values<double>()[b * m + i];
    const Row factor = factors.values<double>().subspan(b * m * rank, m * rank);
    joint.values<double>()[b] = diagonal_.defined()
                                    ? low_rank_log_density(error, factor, diagonals.values<double>().subspan(b * m, m))
                                    : cholesky_log_density(error, factor);
  }
  return joint;
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
