#include "npzoo/models/applications/tables/columns/symmetric_inverse.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "npzoo/datasets/gaussian_processes/dot_product.h"

namespace npzoo {

double invert_symmetric(std::span<double> a, std::size_t n) {
  double log_det = 0;
  for (std::size_t i = 0; i < n; ++i) {  // L of A = L Lᵀ, in the lower triangle
    double* row = &a[i * n];
    for (std::size_t j = 0; j < i; ++j)
      row[j] = (row[j] - dot_product(row, &a[j * n], static_cast<std::int64_t>(j))) / a[j * n + j];
    const double least = std::numeric_limits<double>::epsilon() * std::abs(row[i]);
    row[i] = std::sqrt(std::max(row[i] - dot_product(row, row, static_cast<std::int64_t>(i)), least));
    log_det += 2 * std::log(row[i]);
  }
  std::vector<double> own(n);
  for (std::size_t i = 0; i < n; ++i) {  // L⁻¹
    double* row = &a[i * n];
    std::fill_n(own.begin(), i, 0.0);
    for (std::size_t k = 0; k < i; ++k)
      for (std::size_t j = 0; j <= k; ++j) own[j] += row[k] * a[k * n + j];
    for (std::size_t j = 0; j < i; ++j) row[j] = -own[j] / row[i];
    row[i] = 1 / row[i];
  }
  for (std::size_t k = 0; k < n; ++k) {  // L⁻ᵀ L⁻¹, a sum over rows
    std::copy_n(&a[k * n], k + 1, own.begin());
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j <= i; ++j) a[i * n + j] += own[i] * own[j];
    for (std::size_t j = 0; j <= k; ++j) a[k * n + j] = own[k] * own[j];
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) a[j * n + i] = a[i * n + j];
  return log_det;
}

}  // namespace npzoo
