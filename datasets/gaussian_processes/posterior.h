#pragma once

#include <memory>
#include <span>
#include <vector>

#include "npzoo/datasets/gaussian_processes/covariance.h"
#include "npzoo/datasets/symmetric_factor.h"

namespace npzoo {

/// Means and variances of single target values.
struct GpMarginals {
  std::vector<double> mean;
  std::vector<double> variance;
};

/// Covariances of a zero-mean Gaussian process at points; row-major.
class Covariance {
 public:
  virtual ~Covariance() = default;

  virtual std::vector<double> between(Inputs a, Inputs b) const = 0;  // (n, m)
  virtual std::vector<double> of(Inputs a) const = 0;                 // (n, n)
  virtual std::vector<double> variances(Inputs a) const = 0;          // (n)
};

/// Exact posterior of a zero-mean Gaussian process whose hyper-parameters are known (Rasmussen and Williams, 2006,
/// section 2.2). The noise is Gaussian, independent for every observed value; noises are standard deviations and
/// log-likelihoods are in nats.
///
/// An empty context is legal and gives the prior. `target_noise` 0 asks for the latent function itself. A target may
/// coincide with a context point: it is then another observation at the same place.
class GpPosterior {
 public:
  /// xc (Nc, Dx), yc (Nc). Throws Error when the covariance of the context values is not positive definite.
  GpPosterior(const Kernel& kernel, Inputs xc, std::span<const double> yc, double context_noise);
  GpPosterior(std::shared_ptr<const Covariance> prior, Inputs xc, std::span<const double> yc, double context_noise);

  /// log p(yc), the marginal likelihood of the context.
  double log_evidence() const;
  /// Variances are positive: where the context leaves nothing open they are what rounding makes of 0.
  GpMarginals marginals(Inputs xt, double target_noise) const;
  /// log p(yt_i | context) for each target by itself.
  std::vector<double> log_likelihood(Inputs xt, std::span<const double> yt, double target_noise) const;
  /// log p(yt | context) of all targets together; divide by Nt to compare with per-point figures. Throws Error when
  /// targets coincide and no noise separates them.
  double joint_log_likelihood(Inputs xt, std::span<const double> yt, double target_noise) const;

 private:
  struct Projection;
  Projection project(Inputs xt) const;

  std::shared_ptr<const Covariance> prior_;
  std::vector<double> xc_;
  std::int64_t dims_;
  SymmetricFactor factor_;        // of K(xc, xc) + noise² I
  std::vector<double> whitened_;  // L⁻¹ yc
};

}  // namespace npzoo
