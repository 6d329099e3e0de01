#pragma once

#include <cstdint>
#include <vector>

#include "npzoo/datasets/gaussian_processes/posterior.h"
#include "npzoo/engine/random.h"

namespace npzoo {

/// One summand of a process, with d the distance between two points and t the coordinate along `direction`:
///
///     k(x, x') = variance · m(t) m(t') · base(d) · Σ_k harmonics[k] cos(2π k (t − t') / period)
///
/// A linear function, a level shift, a cycle whose shape and amplitude change and every product of a periodic kernel
/// are such summands, and all of them are Gaussian given these numbers. Sources: Rasmussen and Williams, "Gaussian
/// Processes for Machine Learning", 2006, section 4.2; Solin and Särkkä, "Explicit link between periodic covariance
/// functions and state space models", AISTATS 2014.
struct Term {
  enum class Base : std::uint8_t { constant, matern12, matern32, matern52, rbf };
  enum class Modulation : std::uint8_t { none, linear, step };
  struct Scale {
    double lengthscale, weight;
  };

  double variance = 1;
  Base base = Base::constant;
  /// One for a Matérn kernel; an RBF may be a mixture of several. Weights sum to 1.
  std::vector<Scale> scales{};
  double period = 1;
  std::vector<double> harmonics{};  // sum to 1; empty: no cycle
  Modulation modulation = Modulation::none;
  double origin = 0;                // m(t) = t − origin, or 1 from there on and 0 before
  std::vector<double> direction{};  // (Dx), of length 1; empty: the first axis
  std::vector<double> stretch{};    // (Dx), factors of the lengthscales along each axis; empty: 1

  double base_at(double squared_distance) const;
  double cycle_at(double difference) const;
  double modulation_at(double t) const;
  double along(const double* x, std::int64_t dims) const;
  double squared_distance(const double* a, const double* b, std::int64_t dims) const;
};

/// Variances of the harmonics 0, 1 … of exp(−2 sin²(π d/p) / l²), by exponentially scaled Bessel functions (Solin and
/// Särkkä, 2014, equation 26). What is left out is below 1e−8 of 1.
std::vector<double> periodic_harmonics(double lengthscale);
/// (1 + d² / 2αl²)^−α as a mixture of RBF kernels: the integral over its gamma distribution of scales by the
/// trapezoidal rule in the logarithm. Within 2e−3 for α >= 0.3.
std::vector<Term::Scale> rational_quadratic_scales(double lengthscale, double alpha);

/// A Gaussian process of zero mean, and noise that is independent for each value. Inputs are first mapped: each
/// coordinate by a monotonic warp, then all by a linear map.
class Process final : public Covariance {
 public:
  struct Warp {
    double strength = 0;  // below 1
    double frequency = 1, phase = 0;
  };

  Process(std::int64_t dims, std::vector<Term> terms, double noise);

  std::int64_t dims() const { return dims_; }
  const std::vector<Term>& terms() const { return terms_; }
  double noise() const { return noise_; }  // a standard deviation

  /// x + strength · sin(frequency · x + phase) / frequency, of each coordinate.
  void set_warp(const Warp& warp) { warp_ = warp; }
  /// (Dx, Dx), row-major.
  void set_axes(std::vector<double> axes) { axes_ = std::move(axes); }
  /// Returns the places between which distances are taken, (n, Dx).
  std::vector<double> mapped(Inputs x) const;

  std::vector<double> between(Inputs a, Inputs b) const override;
  std::vector<double> of(Inputs a) const override;
  std::vector<double> variances(Inputs a) const override;

  /// Draws one function at `x` (n, Dx), without noise.
  ///
  /// For one input it is exact for any n, in O(n) for each Matérn process and each harmonic: Matérn processes are
  /// Markov (Särkkä and Solin, "Applied Stochastic Differential Equations", 2019, section 12.3), and RBF ones are
  /// Fourier series on a circle so wide that its other side counts for less than 2e−8 (by Poisson's summation formula).
  /// For several inputs it is exact by Cholesky up to `dense` points. Beyond that terms are random Fourier features
  /// (Rahimi and Recht, 2007), `kFeatures` each: Gaussian given their frequencies, with the covariance above on average
  /// over them.
  std::vector<double> draw(Inputs x, std::int64_t dense, Random& random) const;

  static constexpr std::int64_t kFeatures = 192;

 private:
  double at(const Term& term, const double* a, const double* b) const;

  std::int64_t dims_;
  std::vector<Term> terms_;
  double noise_;
  Warp warp_{};
  std::vector<double> axes_;
};

}  // namespace npzoo
