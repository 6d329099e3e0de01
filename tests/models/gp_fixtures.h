#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "npzoo/datasets/gaussian_processes/posterior.h"
#include "npzoo/engine/random.h"
#include "npzoo/models/applications/gaussian_process/gp_kernel.h"

namespace npzoo::testing {

/// Numbers between 0 and 1.
inline std::vector<double> uniform_places(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> x(count);
  for (double& value : x) value = random.uniform();
  return x;
}

/// A draw of the process with the logarithms `logs` at x.
inline std::vector<double> drawn_field(GpCovariance covariance, const std::vector<double>& logs,
                                       const std::vector<double>& x, std::uint64_t seed) {
  covariance.set(logs);
  std::vector<double> k = covariance.between(x, x);
  const std::size_t n = x.size() / covariance.dims();
  for (std::size_t i = 0; i < n; ++i) k[i * n + i] += std::exp(2 * logs.back());
  std::vector<double> z(n);
  Random(seed).fill_normal(z);
  return SymmetricFactor(std::move(k), static_cast<std::int64_t>(n)).multiply(z);
}

}  // namespace npzoo::testing
