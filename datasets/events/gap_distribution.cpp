#include "npzoo/datasets/events/gap_distribution.h"

#include "npzoo/datasets/boost_math.h"  // before Boost.Math

#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/tools/fraction.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "npzoo/datasets/normal_distribution.h"

namespace npzoo {

namespace {

// With this policy the functions of Boost return NaN for an argument that is not finite, instead of throwing.
using QuietPolicy =
    boost::math::policies::policy<boost::math::policies::domain_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

double log_gamma_of_shape(double x) { return boost::math::lgamma(x, QuietPolicy()); }

/// a log x with 0 log 0 = 0.
double times_log(double a, double x) { return a == 0 ? 0 : a * std::log(x); }

/// log Q(a, x) of the regularised upper incomplete gamma function. Above a + 1 it is a continued fraction (Abramowitz
/// and Stegun, 6.5.31), because Q itself may be 0 in double.
double log_upper_gamma(double a, double x) {
  if (x < a + 1) return std::log1p(-boost::math::gamma_p(a, x, QuietPolicy()));
  struct Terms {
    using result_type = std::pair<double, double>;
    double a, x;
    int n = 0;
    result_type operator()() {
      const double numerator = n == 0 ? 1 : -n * (n - a);
      return {numerator, x + 1 - a + 2 * n++};
    }
  } terms{a, x};
  return a * std::log(x) - x - log_gamma_of_shape(a) +
         std::log(boost::math::tools::continued_fraction_a(terms, std::numeric_limits<double>::epsilon()));
}

}  // namespace

double GapDistribution::log_density(double gap) const {
  const double x = gap / b;
  switch (kind) {
    case Kind::gamma: return times_log(a - 1, x) - x - log_gamma_of_shape(a) - std::log(b);
    case Kind::weibull: return std::log(a / b) + times_log(a - 1, x) - std::pow(x, a);
    case Kind::log_normal: break;
  }
  if (gap == 0) return -std::numeric_limits<double>::infinity();
  const double z = (std::log(gap) - a) / b;
  return -z * z / 2 - std::log(2 * std::numbers::pi) / 2 - std::log(b * gap);
}

double GapDistribution::log_survival(double gap) const {
  switch (kind) {
    case Kind::gamma: return log_upper_gamma(a, gap / b);
    case Kind::weibull: return -std::pow(gap / b, a);
    case Kind::log_normal: break;
  }
  return gap == 0 ? 0 : log_normal_probability((a - std::log(gap)) / b);
}

double GapDistribution::draw(Random& random) const {
  switch (kind) {
    case Kind::gamma:
      if (a >= 1) return b * random.gamma(a);
      return b * random.gamma(a + 1) * std::pow(1 - random.uniform(), 1 / a);  // Marsaglia and Tsang, section 6
    case Kind::weibull: return b * std::pow(-std::log1p(-random.uniform()), 1 / a);
    case Kind::log_normal: break;
  }
  return std::exp(a + b * random.normal());
}

}  // namespace npzoo
