#pragma once

#include <cstdint>

namespace npzoo {

/// The sum of products of n numbers, for factorisations. Four sums hide the latency of the additions; another order of
/// additions would change the bits of all training data (see Cholesky).
inline double dot_product(const double* a, const double* b, std::int64_t n) {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 += a[i] * b[i];
    s1 += a[i + 1] * b[i + 1];
    s2 += a[i + 2] * b[i + 2];
    s3 += a[i + 3] * b[i + 3];
  }
  for (; i < n; ++i) s0 += a[i] * b[i];
  return (s0 + s2) + (s1 + s3);
}

}  // namespace npzoo
