// Times Eigen's dense Cholesky factor and triangular solves (npzoo/datasets/symmetric_factor.h) against hand-written
// loops, at the sizes of oracles (5 to 50 points), of fits (up to 256) and of exact posteriors (up to 2000).
//
//     factor_bench [ROUNDS]      default: 15
//
// Prints the median over the rounds of hand-written / Eigen processor time: above 1, Eigen is faster.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "npzoo/datasets/gaussian_processes/cholesky.h"
#include "npzoo/datasets/symmetric_factor.h"

namespace {

using Values = std::vector<double>;

/// exp(−d² / 2) at steps of 0.05, with noise.
Values covariance_of(std::int64_t n) {
  Values a;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const double d = 0.05 * static_cast<double>(i - j);
      a.push_back(std::exp(-d * d / 2) + (i == j ? 0.01 : 0));
    }
  return a;
}

/// The loops that Eigen replaced.
void solve_by_hand(const npzoo::Cholesky& l, std::int64_t n, Values& b) {
  const std::int64_t m = std::ssize(b) / n;
  for (std::int64_t i = 0; i < n; ++i) {
    double* const row = b.data() + i * m;
    for (std::int64_t j = 0; j < i; ++j) {
      const double factor = l(i, j);
      const double* const x = b.data() + j * m;
      for (std::int64_t c = 0; c < m; ++c) row[c] -= factor * x[c];
    }
    for (std::int64_t c = 0; c < m; ++c) row[c] /= l(i, i);
  }
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class F>
double seconds_of(std::int64_t runs, const F& f) {
  const double begin = processor_seconds();
  for (std::int64_t i = 0; i < runs; ++i) f();
  return processor_seconds() - begin;
}

/// Median of hand-written / Eigen processor time.
template <class A, class B>
double ratio(int rounds, double operations, const A& by_hand, const B& by_eigen) {
  const auto runs = static_cast<std::int64_t>(std::clamp(5e6 / operations, 1.0, 5000.0));
  Values ratios;
  for (int round = 0; round < rounds; ++round) {
    const double hand = seconds_of(runs, by_hand);
    ratios.push_back(hand / seconds_of(runs, by_eigen));
  }
  std::ranges::nth_element(ratios, ratios.begin() + rounds / 2);
  return ratios[static_cast<std::size_t>(rounds / 2)];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  fmt::print("{:>6} {:>8} {:>8} {:>9}\n", "points", "factor", "solve 1", "solve 50");
  for (const std::int64_t n : {5, 10, 20, 50, 128, 256, 512, 1000, 2000}) {
    const Values a = covariance_of(n);
    const npzoo::Cholesky by_hand(a, n);
    const npzoo::SymmetricFactor by_eigen(a, n);
    const auto size = static_cast<double>(n);
    const double factor = ratio(
        rounds, size * size * size / 3, [&] { npzoo::Cholesky(Values(a), n); },
        [&] { npzoo::SymmetricFactor(Values(a), n); });
    const auto solve = [&](std::int64_t columns) {
      const Values b(static_cast<std::size_t>(n * columns), 1.0);
      Values x;
      return ratio(
          rounds, size * size * static_cast<double>(columns),
          [&] {
            x = b;
            solve_by_hand(by_hand, n, x);
          },
          [&] {
            x = b;
            by_eigen.solve_lower(x);
          });
    };
    const double one = solve(1), fifty = solve(50);
    fmt::print("{:>6} {:>8.2f} {:>8.2f} {:>9.2f}\n", n, factor, one, fifty);
  }
  return 0;
}
