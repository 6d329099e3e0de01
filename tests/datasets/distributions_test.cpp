#include "npzoo/datasets/distributions/distribution.h"

#include "npzoo/datasets/boost_math.h"  // before Boost.Math

#include <doctest/doctest.h>

#include <boost/math/distributions/bernoulli.hpp>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/lognormal.hpp>
#include <boost/math/distributions/negative_binomial.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "npzoo/engine/random.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

struct DistributionCase {
  const Distribution* distribution;
  std::vector<double> p;
  bool whole = true;  // whole numbers from 0
  double atom = 0;    // probability of 0 beside a density
};

double logit_of(double p) { return std::log(p / (1 - p)); }

std::vector<DistributionCase> distribution_cases() {
  const auto log = [](double x) { return std::log(x); };
  return {{&student_t_distribution(), {0.4, 1.3, 3.5}, false},
          {&student_t_distribution(), {-2, 0.2, 40}, false},
          {&log_normal_distribution(), {0.3, 0.7}, false},
          {&beta_distribution(), {logit_of(0.3), log(12)}, false},
          {&beta_distribution(), {logit_of(0.8), log(12)}, false},
          {&poisson_distribution(), {log(0.2)}},
          {&poisson_distribution(), {log(7.5)}},
          {&poisson_distribution(), {log(900)}},
          {&negative_binomial_distribution(), {log(3), log(1.7)}},
          {&negative_binomial_distribution(), {log(60), log(0.4)}},
          {&bernoulli_distribution(), {logit_of(0.3)}},
          {&categorical_distribution(), {0.3, -1, 2, 0.1}},
          {&zero_inflated_poisson_distribution(), {logit_of(0.35), log(4)}},
          {&zero_inflated_negative_binomial_distribution(), {logit_of(0.2), log(6), log(2)}},
          {&zero_inflated_log_normal_distribution(), {logit_of(0.25), -0.2, 0.5}, false, 0.25}};
}

template <class F>
double integral_between(const F& f, double low, double high) {
  return boost::math::quadrature::gauss_kronrod<double, 31>::integrate(f, low, high, 12, 1e-11);
}

/// The range outside of which lies a probability of 1e-13 on each side, or of all for heavy tails.
std::pair<double, double> range_of(const DistributionCase& c) {
  if (c.distribution == &student_t_distribution()) return {-kInfinity, kInfinity};
  if (c.distribution == &beta_distribution()) return {0, 1};
  return {0, kInfinity};
}

/// E f(Y).
double expected_value(const DistributionCase& c, const std::function<double(double)>& f) {
  const Distribution& d = *c.distribution;
  const auto term = [&](double y) { return f(y) * std::exp(d.log_density(c.p, y)); };
  if (!c.whole) return c.atom * f(0) + integral_between(term, range_of(c).first, range_of(c).second);
  double sum = 0;
  for (double y = 0; y < 6000; ++y)
    if (d.supports(c.p.size(), y)) sum += term(y);
  return sum;
}

std::vector<double> quantile_levels() { return {1e-6, 0.01, 0.2, 0.5, 0.7, 0.95, 0.999999}; }

}  // namespace

TEST_CASE("[distributions] densities add up to one, and agree with moments and distribution functions") {
  for (const DistributionCase& c : distribution_cases()) {
    const Distribution& d = *c.distribution;
    CAPTURE(std::string(d.name()));
    CAPTURE(c.p);
    const ValueMoments m = d.moments(c.p);
    CHECK(expected_value(c, [](double) { return 1.0; }) == doctest::Approx(1).epsilon(1e-9));
    CHECK(expected_value(c, [](double y) { return y; }) == doctest::Approx(m.mean).epsilon(1e-8));
    const double square = expected_value(c, [&](double y) { return (y - m.mean) * (y - m.mean); });
    CHECK(std::sqrt(square) == doctest::Approx(m.std).epsilon(1e-5));
    for (const double level : quantile_levels()) {
      const double y = d.quantile(c.p, level);
      CAPTURE(level);
      CHECK((d.supports(c.p.size(), y) || y == 0));
      const double left = c.whole
                              ? expected_value(c, [&](double at) { return at <= y ? 1.0 : 0.0; })
                              : c.atom + integral_between([&](double at) { return std::exp(d.log_density(c.p, at)); },
                                                          range_of(c).first, y);
      CHECK(d.cdf(c.p, y) == doctest::Approx(left).epsilon(1e-8));
      CHECK(d.cdf(c.p, y) >= level * (1 - 1e-9));  // the least such value
      CHECK(d.below(c.p, y) <= level * (1 + 1e-9));
    }
  }
}

TEST_CASE("[distributions] quantiles and probabilities are those of closed forms") {
  const auto compare = [](const Distribution& d, const std::vector<double>& p, const auto& closed, bool whole) {
    CAPTURE(std::string(d.name()));
    CAPTURE(p);
    for (const double level : quantile_levels()) {
      const double y = d.quantile(p, level);
      double expected = boost::math::quantile(closed, level);
      if (whole) {  // Boost rounds outwards
        expected = std::floor(expected);
        while (boost::math::cdf(closed, expected) < level) ++expected;
        while (expected > 0 && boost::math::cdf(closed, expected - 1) >= level) --expected;
        CHECK(y == expected);
      } else {
        CHECK(y == doctest::Approx(expected).epsilon(1e-9));
      }
      CHECK(d.cdf(p, y) == doctest::Approx(boost::math::cdf(closed, y)).epsilon(1e-10));
      CHECK(d.log_density(p, y) == doctest::Approx(std::log(boost::math::pdf(closed, y))).epsilon(1e-9));
    }
  };
  compare(student_t_distribution(), {0, 1, 4.5}, boost::math::students_t_distribution<double>(4.5), false);
  compare(log_normal_distribution(), {0.3, 0.7}, boost::math::lognormal_distribution<double>(0.3, 0.7), false);
  compare(beta_distribution(), {logit_of(0.3), std::log(10.0)}, boost::math::beta_distribution<double>(3, 7), false);
  for (const double mean : {0.03, 2.5, 80.0, 4e4})
    compare(poisson_distribution(), {std::log(mean)}, boost::math::poisson_distribution<double>(mean), true);
  for (const double size : {0.3, 4.0, 500.0})
    compare(negative_binomial_distribution(), {std::log(5.0), std::log(size)},
            boost::math::negative_binomial_distribution<double>(size, size / (size + 5)), true);
  compare(bernoulli_distribution(), {logit_of(0.3)}, boost::math::bernoulli_distribution<double>(0.3), true);
}

TEST_CASE("[distributions] the ranked probability score is the integral of squared errors") {
  for (const DistributionCase& c : distribution_cases()) {
    const Distribution& d = *c.distribution;
    CAPTURE(std::string(d.name()));
    CAPTURE(c.p);
    for (const double level : {0.001, 0.3, 0.5, 0.9, 0.9999}) {
      const double y = d.quantile(c.p, level);
      CAPTURE(y);
      double expected = 0;
      if (c.whole) {
        for (double k = 0; k < 6000; ++k) expected += std::pow(d.cdf(c.p, k) - (y <= k ? 1 : 0), 2);
      } else {
        const auto [low, high] = range_of(c);
        expected = integral_between([&](double x) { return std::pow(d.cdf(c.p, x), 2); }, low, y) +
                   integral_between([&](double x) { return std::pow(1 - d.cdf(c.p, x), 2); }, y, high);
      }
      CHECK(d.crps(c.p, y) == doctest::Approx(expected).epsilon(1e-7));
    }
  }
  // Wide counts take a part of the sum: near the Gaussian of the same moments.
  const std::vector<double> wide{std::log(1e9)}, mean{1e9}, std{std::sqrt(1e9)};
  CHECK(poisson_distribution().crps(wide, 1e9 + 5e4) ==
        doctest::Approx(crps(GaussianMixture{mean, std}, 1e9 + 5e4)).epsilon(1e-3));
  CHECK(poisson_distribution().crps(std::vector{std::log(3.0)}, 1e6) == doctest::Approx(1e6 - 3).epsilon(1e-5));
}

TEST_CASE("[distributions] central intervals hold as many values as they should") {
  for (const DistributionCase& c : distribution_cases()) {
    CAPTURE(std::string(c.distribution->name()));
    Random random(7);
    constexpr int kDraws = 40'000;
    int inside = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double y = c.distribution->quantile(c.p, std::max(random.uniform(), 1e-300));
      inside += central_mass(*c.distribution, c.p, y, random.uniform()) <= 0.8;
    }
    CHECK(std::abs(inside / static_cast<double>(kDraws) - 0.8) <= 4 * std::sqrt(0.8 * 0.2 / kDraws));
  }
}

TEST_CASE("[distributions] supports, odd values and names") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DistributionCase& c : distribution_cases()) {
    const Distribution& d = *c.distribution;
    CAPTURE(std::string(d.name()));
    CHECK(find_distribution(d.name()) == &d);
    CHECK((d.parameters() == c.p.size() || d.parameters() == 0));
    CHECK(std::isnan(d.log_density(c.p, nan)));
    CHECK(std::isnan(d.cdf(c.p, nan)));
    CHECK(std::isnan(d.quantile(std::vector<double>(c.p.size(), nan), 0.5)));
    CHECK_FALSE(d.supports(c.p.size(), nan));
    CHECK_FALSE(d.supports(c.p.size(), kInfinity));
    for (const double y : {-1.0, 0.5, 0.0, 1.0, 4.0})
      if (!d.supports(c.p.size(), y)) CHECK(d.log_density(c.p, y) == -kInfinity);
    CHECK(error_of([&] { d.quantile(c.p, 1); }) == "[quantile] p is 1, expected above 0 and below 1");
  }
  CHECK(find_distribution("gaussian") == nullptr);
  CHECK(distributions().size() == 10);
  CHECK(categorical_distribution().support(4) == "a whole number from 0 to 3, the number of a class");
  CHECK(zero_inflated_poisson_distribution().support(2) == "a whole number from 0");
  CHECK(zero_inflated_log_normal_distribution().support(3) == "0 or a number above 0");
  CHECK_FALSE(beta_distribution().supports(2, 1));
  CHECK_FALSE(log_normal_distribution().supports(2, 0));
  // Far out nothing overflows.
  CHECK(bernoulli_distribution().log_density(std::vector{800.0}, 0) == -800);
  CHECK(poisson_distribution().quantile(std::vector{20.0}, 0.5) == doctest::Approx(std::exp(20.0)).epsilon(1e-6));
  CHECK(zero_inflated_poisson_distribution().quantile(std::vector{40.0, 1.0}, 0.999) == 0);
}
