#include "npzoo/datasets/gaussian_processes/cholesky.h"

#include <cmath>
#include <utility>

#include "npzoo/datasets/gaussian_processes/dot_product.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr std::int64_t kLook = 20'000'000;  // products between two looks at the stop token

}  // namespace

Cholesky::Cholesky(std::vector<double> matrix, std::int64_t n) : l_(std::move(matrix)), n_(n) {
  check(static_cast<std::int64_t>(l_.size()) == n * n, "[cholesky] {} elements found, expected a {} x {} matrix",
        l_.size(), n, n);
  std::int64_t products = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if ((products += i * i) > kLook) {
      throw_if_stopped();
      products = 0;
    }
    double* row = l_.data() + i * n;
    for (std::int64_t j = 0; j < i; ++j) {
      const double* other = l_.data() + j * n;
      row[j] = (row[j] - dot_product(row, other, j)) / other[j];
    }
    const double pivot = row[i] - dot_product(row, row, i);
    check(pivot > 0, "[cholesky] {} x {} matrix is not positive definite: pivot {} is {}, expected > 0", n, n, i,
          pivot);
    row[i] = std::sqrt(pivot);
  }
}

void Cholesky::multiply(std::span<const double> z, std::span<double> out) const {
  for (std::int64_t i = 0; i < n_; ++i) out[i] = dot_product(l_.data() + i * n_, z.data(), i + 1);
}

}  // namespace npzoo
