#include "models/predictions/components.h"

#include <cmath>
#include <vector>

#include "ops/concat/concat.h"
#include "ops/reshape/reshape.h"

namespace npzoo {

Tensor components_first(const Tensor& x) {
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(x.dim(2)), 1);
  std::vector<Tensor> parts = split(x, 2, ones);  // (B, Nt, 1)
  for (Tensor& part : parts) part = reshape(part, {1, x.dim(0), x.dim(1)});
  return concat(parts, 0);
}

Tensor uniform(std::int64_t n, std::int64_t tasks, std::int64_t targets, Draws& draws) {
  constexpr double kSteps = 0x1p53;
  Tensor u = draws.integers(n, Tensor::full({tasks}, kSteps, DType::int64), targets).to(DType::float64);
  for (double& value : u.values<double>()) value /= kSteps;
  return u;
}

std::size_t choose(std::span<const double> log_probability, double u) {
  double rest = 0;
  for (const double x : log_probability) rest += std::exp(x);
  rest *= u;
  std::size_t last = 0;
  for (std::size_t i = 0; i < log_probability.size(); ++i) {
    const double probability = std::exp(log_probability[i]);
    if (probability > 0) last = i;
    if (rest < probability) return i;
    rest -= probability;
  }
  return last;
}

}  // namespace npzoo
