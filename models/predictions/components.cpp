#include "npzoo/models/predictions/components.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

Tensor components_first(const Tensor& x) {
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(x.dim(2)), 1);
  std::vector<Tensor> parts = split(x, 2, ones);  // (B, Nt, 1)
  for (Tensor& part : parts) part = reshape(part, {1, x.dim(0), x.dim(1)});
  return concat(parts, 0);
}

/// A captured step can only take them from page-locked memory.
Tensor row_of_constants(std::span<const double> values, const Tensor& like) {
  const std::int64_t count = std::ssize(values);
  const bool here = like.device() == Device::cpu;
  Tensor row = here ? Tensor::empty({count}, like.dtype(), Device::cpu) : Tensor::pinned({count}, like.dtype());
  const auto put = [&]<class T>(std::span<T> all) {
    std::ranges::transform(values, all.begin(), [](double x) { return static_cast<T>(x); });
  };
  if (like.dtype() == DType::float32)
    put(row.values<float>());
  else
    put(row.values<double>());
  return row.to(like.device());
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
