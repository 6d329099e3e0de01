#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace npzoo {

/// A factor of a kernel. With r the distance of two points in lengthscales, d that of their first inputs:
///
///     matern-1/2  exp(−r)
///     matern-3/2  (1 + √3 r) exp(−√3 r)
///     matern-5/2  (1 + √5 r + 5 r²/3) exp(−√5 r)
///     rbf         exp(−r²/2)
///     periodic    exp(−2 sin²(π d/p) / l²)
///     linear      Σ x x', of centred inputs
///
/// Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, chapter 4.
enum class GpFactor : std::uint8_t { matern12, matern32, matern52, rbf, periodic, linear };

/// A correlation and its derivative with respect to r².
struct CorrelationSlope {
  double value, d_square;
};
/// Returns the correlation of a factor that depends on r alone. `square` is r². The slope of matern-1/2 is 0 at r = 0.
CorrelationSlope correlation_slope(GpFactor factor, double square);

/// A covariance function: a sum of products of factors.
struct GpKernel {
  std::vector<std::vector<GpFactor>> terms;

  /// Reads `matern-3/2 * periodic + linear`. Throws Error, listing the names, for any other text.
  static GpKernel parse(std::string_view text);
  std::string text() const;
  bool operator==(const GpKernel&) const = default;
};

/// A hyper-parameter. All are positive, and handled by their logarithms.
struct GpParameter {
  enum class Kind : std::uint8_t { scale, lengthscale, period, roughness, slope, noise };

  Kind kind = Kind::scale;
  std::size_t term = 0;   // of the kernel
  std::size_t group = 0;  // of a lengthscale: the group of its inputs; of a slope: its number
};

/// The most inputs of a Gaussian process, counting each category of a column of text.
inline constexpr std::size_t kMostGpInputs = 256;

/// The group of inputs that the kernel ignores: they are in the mean alone.
inline constexpr std::size_t kMeanOnly = std::numeric_limits<std::size_t>::max();

/// A kernel whose hyper-parameters have values. Inputs of one group share their lengthscales. Slopes of the mean are
/// normal with mean 0, and those of one group share their standard deviation.
class GpCovariance {
 public:
  /// `group_of` has the number of the group of each input, from 0 on, or kMeanOnly; the first input has a number.
  /// `slope_of` (S) has the number of the group of each slope of the mean, from 0 on. Throws Error for more inputs than
  /// kMostGpInputs.
  GpCovariance(GpKernel kernel, std::vector<std::size_t> group_of, std::vector<std::size_t> slope_of = {});

  const GpKernel& kernel() const { return kernel_; }
  std::size_t dims() const { return group_of_.size(); }
  std::size_t groups() const { return groups_; }
  /// Each term has a scale (a standard deviation) and then the parameters of its factors: a lengthscale for each group,
  /// or the period and the roughness l of a periodic factor. The deviations of slopes and the noise come last. They are
  /// no part of the covariance here.
  const std::vector<GpParameter>& parameters() const { return parameters_; }
  /// The number of parameters of the terms.
  std::size_t own_parameters() const { return first_slope_; }
  void set(std::span<const double> logs);
  /// The standard deviation of each slope (S).
  std::vector<double> slope_deviations() const;
  /// (S): the number of the parameter of each slope's deviation.
  std::vector<std::size_t> slope_parameters() const;

  /// The covariance of the values of two points.
  double operator()(const double* a, const double* b) const;
  /// The same, with its derivatives with respect to the logarithms of the terms' parameters.
  double with_slopes(const double* a, const double* b, double* d_log) const;
  /// (n, m), of points a (n, D) and b (m, D).
  std::vector<double> between(std::span<const double> a, std::span<const double> b) const;
  /// The least lengthscale of each group among the terms; 1 if no term has one.
  std::vector<double> shortest() const;

 private:
  struct Factor {
    GpFactor kind;
    std::size_t first;  // of its parameters
  };
  struct Term {
    std::size_t scale;  // the number of its parameter
    std::vector<Factor> factors;
  };

  void squares(const double* a, const double* b, double* square) const;
  double value_of(const Factor& factor, const double* square, const double* a, const double* b) const;
  double value_and_slopes(const Factor& factor, const double* square, const double* a, const double* b,
                          double* d_log) const;

  GpKernel kernel_;
  std::vector<std::size_t> group_of_, slope_of_;
  std::size_t groups_ = 0, first_slope_ = 0;
  std::vector<Term> terms_;
  std::vector<GpParameter> parameters_;
  std::vector<double> values_;   // of the parameters
  std::vector<double> inverse_;  // of a lengthscale: 1 / l²; of others unspecified
};

}  // namespace npzoo
