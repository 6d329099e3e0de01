#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "npzoo/ops/random_feature_attention/random_feature_attention.h"

namespace npzoo {

namespace {

double norm(std::span<const double> x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

/// Takes away what x has of the directions of the unit vectors in `rows`.
void make_orthogonal(std::span<double> x, std::span<const double> rows) {
  for (; !rows.empty(); rows = rows.subspan(x.size())) {
    const double part = std::inner_product(x.begin(), x.end(), rows.begin(), 0.0);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= part * rows[i];
  }
}

}  // namespace

Tensor orthogonal_random_features(std::int64_t features, std::int64_t width, FeatureNorms norms, Random& random) {
  check(features >= 1 && width >= 1,
        "[orthogonal_random_features] {} features of width {}, expected at least one feature and one channel", features,
        width);
  Tensor projection = Tensor::empty({features, width}, DType::float64, Device::cpu);
  const std::span<double> all = projection.values<double>();
  const auto size = static_cast<std::size_t>(width);
  std::vector<double> lengths(static_cast<std::size_t>(features), std::sqrt(static_cast<double>(width)));
  // Gram-Schmidt gives the Q of the QR factorisation whose R has a positive diagonal, which is Haar distributed
  // (Mezzadri, "How to generate random matrices from the classical compact groups", 2007). The second pass removes what
  // rounding left when most of a row went away.
  for (std::size_t f = 0; f < lengths.size(); ++f) {
    const std::span<double> row = all.subspan(f * size, size);
    const std::span<const double> block = all.subspan(f / size * size * size, f % size * size);
    random.fill_normal(row);
    // Independent of the direction, on which alone Q depends, so it serves as the length that is to be drawn.
    if (norms == FeatureNorms::chi) lengths[f] = norm(row);
    for (int pass = 0; pass < 2; ++pass) {
      make_orthogonal(row, block);
      const double length = norm(row);
      for (double& x : row) x /= length;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i] *= lengths[i / size];
  return projection.to(default_device());
}

}  // namespace npzoo
