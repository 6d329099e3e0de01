#include "npzoo/datasets/events/gap_distribution.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace npzoo {

namespace {

/// std::lgamma writes to a global variable.
double log_gamma_of_shape(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// a log x with 0 log 0 = 0.
double times_log(double a, double x) { return a == 0 ? 0 : a * std::log(x); }

/// log Q(a, x), of the regularised upper incomplete gamma function: below a + 1 by the series of what it lacks to 1,
/// above by a continued fraction (Abramowitz and Stegun, 6.5.29 and 6.5.31), evaluated as Lentz does.
double log_upper_gamma(double a, double x) {
  constexpr int kMostTerms = 100'000;
  constexpr double kPrecision = std::numeric_limits<double>::epsilon();
  if (x == 0) return 0;
  const double log_scale = a * std::log(x) - x - log_gamma_of_shape(a);
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < kMostTerms && term > kPrecision * sum; ++n) sum += term *= x / (a + n);
    return std::log1p(-std::exp(log_scale) * sum);
  }
  constexpr double kTiny = std::numeric_limits<double>::min() / kPrecision;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, fraction = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const double numerator = -n * (n - a);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    fraction *= c * d;
    if (std::abs(c * d - 1) <= kPrecision) break;
  }
  return log_scale + std::log(fraction);
}

/// log P(Z > z) of a standard Gaussian; far out, where erfc has no digits left, by Laplace's continued fraction.
double log_upper_normal(double z) {
  constexpr double kFar = 8;
  constexpr int kTerms = 60;
  if (z < kFar) return std::log(std::erfc(z / std::numbers::sqrt2) / 2);
  double fraction = z;
  for (int n = kTerms; n >= 1; --n) fraction = z + n / fraction;
  return -z * z / 2 - std::log(2 * std::numbers::pi) / 2 - std::log(fraction);
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
  return gap == 0 ? 0 : log_upper_normal((std::log(gap) - a) / b);
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
