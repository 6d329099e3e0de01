#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "npzoo/engine/random.h"
#include "npzoo/models/applications/gaussian_process/gp_kernel.h"

namespace npzoo {

/// Observed points of a function. The caller owns the arrays, which must be finite.
struct GpPoints {
  std::int64_t dims = 1;
  std::span<const double> x{};  // (n, D), row-major
  std::span<const double> y{};  // (n)
  /// (D): inputs with the same number, from 0 on, share their lengthscales, such as the coordinates of a sphere; those
  /// of kMeanOnly are not in the kernel; empty: each has its own.
  std::vector<std::size_t> group_of{};
  std::vector<bool> in_mean{};  // (D): the mean is linear in these inputs; empty: in none
  /// (D): slopes of inputs with the same number, such as the categories of one column, share the deviation of their
  /// prior; empty: each has its own.
  std::vector<std::size_t> slope_groups{};
};

/// The mean of a Gaussian process. Its constant has a flat prior. Slopes are normal with mean 0, and the deviation of
/// each group of slopes is a hyper-parameter of the fit. An input that does not vary among the points has no slope.
enum class GpMean : std::uint8_t {
  zero,
  constant,  // and linear in the inputs that `in_mean` names
  linear     // in all inputs
};

struct GpOptions {
  std::string kernel = "auto";  // see GpKernel; auto: the likeliest of matern-1/2, -3/2, -5/2 and rbf
  GpMean mean = GpMean::constant;
  std::int64_t largest_exact = 2000;     // points; with more each target is predicted from the nearest ones
  std::int64_t neighbours = 64;          // of a target, then
  double usual_mean = 0, usual_std = 0;  // scale of values if there are too few points; a deviation of 0: their size
};

/// A hyper-parameter in the units of the data; noise and scales are standard deviations.
struct GpValue {
  GpParameter parameter;
  double value = 0;
};

/// A linear term of the mean.
struct GpSlope {
  std::size_t input = 0, group = 0;  // the group's number, as in GpParameter
  double value = 0, std = 0;         // per unit of the input
  double center = 0;                 // mean of the input over the points
};

/// A fitted process.
struct GpFit {
  GpKernel kernel;
  std::vector<GpValue> values;  // as GpCovariance::parameters lists them
  std::vector<GpSlope> slopes{};
  std::vector<double> slope_covariance{};  // (S, S)
  double log_density = 0;                  // of the values, with the prior of the fit; nats
  std::int64_t points = 0;                 // observed
  std::int64_t fitted_points = 0;          // that the fit looked at

  double noise() const { return values.back().value; }
};

struct GpFigures {
  std::vector<double> mean, std;  // (m); of observations: noise is included
};

/// A Gaussian process given observed points. Hyper-parameters are those of the largest restricted likelihood, times
/// weak log-normal priors, that gradient ascents from several starts pass. Starts depend on the data alone. The fit
/// uses up to 400 points as they are. With more points it uses blocks: some of points spread over all, some of points
/// near to each other.
///
/// With more than `largest_exact` points a target is predicted from its nearest points, in lengthscales; memory is then
/// that of the points. Bits do not depend on the number of threads. Long work looks at the caller's StopScope.
class GaussianProcess {
 public:
  /// Throws Error for arrays that do not fit together, and for a kernel that GpKernel does not know.
  static GaussianProcess fit(const GpPoints& points, const GpOptions& options = {});
  /// Takes known hyper-parameters, as `GpFit::values` has them: those of a fit to the same points, with the kernel that
  /// it chose, give the same process to the last bit. Throws Error for another number of them, and for a number that is
  /// not positive.
  static GaussianProcess with(const GpPoints& points, std::span<const double> values, const GpOptions& options);
  GaussianProcess(GaussianProcess&&) noexcept;
  ~GaussianProcess();

  const GpFit& found() const;
  bool exact() const;

  /// Predicts observations at targets (m, D).
  GpFigures predict(std::span<const double> targets) const;
  /// Returns what the uncertainty of the S slopes adds to predictions at targets (m, D): (m, S), the factors of S
  /// independent standard normal numbers. With more than 400 points those nearest to a target stand for all. With few
  /// points they are wider, as the noise is not known either.
  std::vector<double> slope_errors(std::span<const double> targets) const;
  /// Returns the covariance of observations at targets (m, D), (m, m). Throws Error unless `exact`.
  std::vector<double> covariance(std::span<const double> targets) const;
  /// Draws observations at targets (m, D), (m, count): of all targets together if `draws_jointly`, else each by itself.
  std::vector<double> sample(std::span<const double> targets, std::int64_t count, Random& random) const;
  bool draws_jointly(std::int64_t targets) const;

 private:
  struct State;
  explicit GaussianProcess(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace npzoo
