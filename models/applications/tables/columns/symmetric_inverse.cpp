#include "npzoo/models/applications/tables/columns/symmetric_inverse.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace npzoo {

double invert_symmetric(std::span<double> a, std::size_t n) {
  double log_det = 0;
  for (std::size_t i = 0; i < n; ++i) {  // L of A = L Lᵀ, in the lower triangle
    double* row = &a[i * n];
    for (std::size_t j = 0; j <= i; ++j) {
      const double* other = &a[j * n];
      double sum = row[j];
      for (std::size_t k = 0; k < j; ++k) sum -= row[k] * other[k];
      row[j] =
          j < i ? sum / other[j] : std::sqrt(std::max(sum, std::numeric_limits<double>::epsilon() * std::abs(row[i])));
    }
    log_det += 2 * std::log(row[i]);
  }
  for (std::size_t j = 0; j < n; ++j) {  // L⁻¹
    a[j * n + j] = 1 / a[j * n + j];
    for (std::size_t i = j + 1; i < n; ++i) {
      double sum = 0;
      for (std::size_t k = j; k < i; ++k) sum -= a[i * n + k] * a[k * n + j];
      a[i * n + j] = sum / a[i * n + i];
    }
  }
  for (std::size_t i = 0; i < n; ++i)  // L⁻ᵀ L⁻¹, a row reads only rows from its own on
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::size_t k = i; k < n; ++k) sum += a[k * n + i] * a[k * n + j];
      a[i * n + j] = sum;
    }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) a[j * n + i] = a[i * n + j];
  return log_det;
}

}  // namespace npzoo
