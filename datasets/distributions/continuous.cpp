#include "npzoo/datasets/distributions/special_functions.h"  // before Boost.Math

#include <array>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <numbers>

#include "npzoo/datasets/distributions/distribution.h"

namespace npzoo {

namespace {

using distribution_math::check_level;
using distribution_math::kInfinite;
using distribution_math::Quiet;

double log_beta(double a, double b) {
  return boost::math::lgamma(a, Quiet()) + boost::math::lgamma(b, Quiet()) - boost::math::lgamma(a + b, Quiet());
}

class StudentT final : public Distribution {
 public:
  std::string_view name() const override { return "student-t"; }
  std::size_t parameters() const override { return 3; }
  std::string support(std::size_t) const override { return "a number"; }
  bool supports(std::size_t, double y) const override { return std::isfinite(y); }

  double log_density(Parameters p, double y) const override {
    const double z = (y - p[0]) / p[1], degrees = p[2];
    return -(degrees + 1) / 2 * std::log1p(z * z / degrees) - log_beta(0.5, degrees / 2) - std::log(degrees) / 2 -
           std::log(p[1]);
  }
  double cdf(Parameters p, double y) const override { return standard_cdf((y - p[0]) / p[1], p[2]); }
  double quantile(Parameters p, double level) const override {
    check_level(level);
    if (std::isnan(p[2])) return p[2];
    return p[0] + p[1] * boost::math::quantile(Standard(p[2]), level);
  }
  ValueMoments moments(Parameters p) const override {
    return {p[0], p[2] > 2 ? p[1] * std::sqrt(p[2] / (p[2] - 2)) : kInfinite};
  }
  /// Jordan, Krüger and Lerch, "Evaluating probabilistic forecasts with scoringRules", Journal of Statistical Software
  /// 2019, appendix A.2; for more than one degree of freedom.
  double crps(Parameters p, double y) const override {
    const double z = (y - p[0]) / p[1], degrees = p[2];
    const double density = std::exp(log_density(std::array{0.0, 1.0, degrees}, z));
    const double spread = std::exp(log_beta(0.5, degrees - 0.5) - 2 * log_beta(0.5, degrees / 2));
    return p[1] * (z * (2 * standard_cdf(z, degrees) - 1) + 2 * density * (degrees + z * z) / (degrees - 1) -
                   2 * std::sqrt(degrees) / (degrees - 1) * spread);
  }

 private:
  using Standard = boost::math::students_t_distribution<double, Quiet>;

  static double standard_cdf(double z, double degrees) {
    if (std::isnan(z) || std::isnan(degrees)) return z + degrees;
    if (std::isinf(z)) return z > 0 ? 1 : 0;
    return boost::math::cdf(Standard(degrees), z);
  }
};

class LogNormal final : public Distribution {
 public:
  std::string_view name() const override { return "log-normal"; }
  std::size_t parameters() const override { return 2; }
  std::string support(std::size_t) const override { return "a number above 0"; }
  bool supports(std::size_t, double y) const override { return 0 < y && y < kInfinite; }

  double log_density(Parameters p, double y) const override {
    if (!(y > 0)) return std::isnan(y) ? y : -kInfinite;
    const double z = (std::log(y) - p[0]) / p[1];
    return -z * z / 2 - std::log(2 * std::numbers::pi) / 2 - std::log(p[1]) - std::log(y);
  }
  double cdf(Parameters p, double y) const override { return npzoo::cdf(one(p), y); }
  double quantile(Parameters p, double level) const override { return npzoo::quantile(one(p), level); }
  ValueMoments moments(Parameters p) const override { return npzoo::moments(one(p)); }
  double crps(Parameters p, double y) const override { return npzoo::crps(one(p), y); }

 private:
  static GaussianMixture one(Parameters p) { return {p.subspan(0, 1), p.subspan(1, 1), {}, Scale::logarithmic}; }
};

class Beta final : public Distribution {
 public:
  std::string_view name() const override { return "beta"; }
  std::size_t parameters() const override { return 2; }
  std::string support(std::size_t) const override { return "a number between 0 and 1, exclusive"; }
  bool supports(std::size_t, double y) const override { return 0 < y && y < 1; }

  double log_density(Parameters p, double y) const override {
    const Shapes s = shapes(p);
    if (!(0 < y && y < 1)) return std::isnan(y) ? y : -kInfinite;
    return (s.a - 1) * std::log(y) + (s.b - 1) * std::log1p(-y) - log_beta(s.a, s.b);
  }
  double cdf(Parameters p, double y) const override {
    const Shapes s = shapes(p);
    if (std::isnan(y) || std::isnan(s.a + s.b)) return y + s.a + s.b;
    return boost::math::ibeta(s.a, s.b, std::clamp(y, 0.0, 1.0), Quiet());
  }
  double quantile(Parameters p, double level) const override {
    check_level(level);
    const Shapes s = shapes(p);
    if (std::isnan(s.a + s.b)) return s.a + s.b;
    return boost::math::ibeta_inv(s.a, s.b, level, Quiet());
  }
  ValueMoments moments(Parameters p) const override {
    const Shapes s = shapes(p);
    const double sum = s.a + s.b, mean = s.a / sum;
    return {mean, std::sqrt(mean * (s.b / sum) / (sum + 1))};
  }
  /// Jordan, Krüger and Lerch, "Evaluating probabilistic forecasts with scoringRules", 2019, appendix A.2.
  double crps(Parameters p, double y) const override {
    const Shapes s = shapes(p);
    if (std::isnan(y) || std::isnan(s.a + s.b)) return y + s.a + s.b;
    const double inside = std::clamp(y, 0.0, 1.0);
    const double next = boost::math::ibeta(s.a + 1, s.b, inside, Quiet());
    const double spread = 2 / s.a * std::exp(log_beta(2 * s.a, 2 * s.b) - 2 * log_beta(s.a, s.b));
    return y * (2 * cdf(p, y) - 1) + s.a / (s.a + s.b) * (1 - 2 * next - spread);
  }

 private:
  struct Shapes {
    double a, b;
  };
  static Shapes shapes(Parameters p) {
    return {std::exp(distribution_math::log_of_logit(p[0]) + p[1]),
            std::exp(distribution_math::log_not_of_logit(p[0]) + p[1])};
  }
};

}  // namespace

const Distribution& student_t_distribution() {
  static const StudentT one;
  return one;
}

const Distribution& log_normal_distribution() {
  static const LogNormal one;
  return one;
}

const Distribution& beta_distribution() {
  static const Beta one;
  return one;
}

}  // namespace npzoo
