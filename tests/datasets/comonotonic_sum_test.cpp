#include "npzoo/datasets/comonotonic_sum.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "npzoo/datasets/normal_distribution.h"

using namespace npzoo;

namespace {

const std::vector<ComonotonicSum> kSums{
    {3, 2}, {0, 0, {{1, 0.5, 0.8}}}, {-1, 0.4, {{0.3, 1.2, 0.3}, {0.5, -0.4, 1}}}, {1e6, 3, {{0.25, 10, 0.05}}}};

/// The mean of f at many equally probable numbers.
template <class F>
double mean_of(const F& f) {
  constexpr int kPieces = 200'000;
  double sum = 0;
  for (int i = 0; i < kPieces; ++i) sum += f(normal_quantile((i + 0.5) / kPieces));
  return sum / kPieces;
}

}  // namespace

TEST_CASE("comonotonic sum: quantiles of the parts add up, and the inverse finds them") {
  for (const ComonotonicSum& z : kSums)
    for (const double p : {1e-6, 0.025, 0.5, 0.8, 0.999}) {
      const double u = normal_quantile(p);
      double sum = z.mean + z.std * u;
      for (const auto& [share, mean, std] : z.parts) sum += share * std::exp(mean + std * u);
      CHECK(z.quantile(p) == doctest::Approx(sum).epsilon(1e-14));
      CHECK(z.inverse(sum) == doctest::Approx(u).epsilon(1e-7));
    }
  CHECK(kSums[1].inverse(0) == -INFINITY);  // log-normal numbers are positive
  CHECK(kSums[1].inverse(INFINITY) == INFINITY);
}

TEST_CASE("comonotonic sum: moments and scores are those of its quantiles") {
  for (const ComonotonicSum& z : kSums) {
    const ValueMoments m = z.moments();
    CHECK(m.mean == doctest::Approx(mean_of([&](double u) { return z.at(u); })).epsilon(1e-4));
    CHECK(m.std ==
          doctest::Approx(std::sqrt(mean_of([&](double u) { return std::pow(z.at(u) - m.mean, 2); }))).epsilon(1e-2));
    for (const double p : {0.001, 0.3, 0.5, 0.9}) {
      const double y = z.quantile(p);
      const double loss = mean_of([&](double u) {
        const double above = z.at(u) - y;
        return 2 * (above > 0 ? normal_probability(-u) * above : -normal_probability(u) * above);
      });
      CHECK(z.crps(y) == doctest::Approx(loss).epsilon(1e-3));
    }
  }
}

TEST_CASE("comonotonic sum: a single log-normal number has the score in closed form") {
  const double mean = 0.5, std = 0.8;
  for (const double y : {-1.0, 0.0, 0.1, 1.6, 20.0})
    CHECK(kSums[1].crps(y) ==
          doctest::Approx(npzoo::crps({{&mean, 1}, {&std, 1}, {}, Scale::logarithmic}, y)).epsilon(1e-10));
}

TEST_CASE("comonotonic sum: variances add up") {
  for (const ComonotonicSum& z : kSums) {
    const ValueMoments before = z.moments(), after = z.plus_variance(2.5).moments();
    CHECK(after.mean == before.mean);
    CHECK(after.std * after.std == doctest::Approx(before.std * before.std + 2.5));
  }
}
