#pragma once

#include "tests/testing.h"

// Helpers for tests of attention weights.

namespace npzoo::testing {

/// Returns the sum of values (B, N, H · D) under weights (B, H, Nq, N), by plain loops in double: (B, Nq, H · D).
inline Tensor weighed(const Tensor& weights, const Tensor& values) {
  const std::int64_t batch = weights.dim(0), heads = weights.dim(1), queries = weights.dim(2), keys = weights.dim(3);
  const std::int64_t width = values.dim(2) / heads;
  Tensor out = Tensor::zeros({batch, queries, heads * width}, DType::float64, Device::cpu);
  const std::vector<double> w = doubles(weights), v = doubles(values);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < queries; ++i)
        for (std::int64_t j = 0; j < keys; ++j)
          for (std::int64_t c = h * width; c < (h + 1) * width; ++c)
            out.data<double>()[(b * queries + i) * heads * width + c] +=
                w[static_cast<std::size_t>(((b * heads + h) * queries + i) * keys + j)] *
                v[static_cast<std::size_t>((b * keys + j) * heads * width + c)];
  return out;
}

/// Over the last axis.
inline std::vector<double> row_sums(const Tensor& weights) {
  const auto width = static_cast<std::size_t>(weights.dim(-1));
  const std::vector<double> all = doubles(weights);
  std::vector<double> sums(static_cast<std::size_t>(weights.shape().rows()), 0);
  for (std::size_t i = 0; i < all.size(); ++i) sums[i / width] += all[i];
  return sums;
}

}  // namespace npzoo::testing
