#pragma once

#include <optional>
#include <span>
#include <vector>

#include "npzoo/datasets/gaussian_processes/posterior.h"
#include "npzoo/datasets/kinds/gp/distribution.h"

namespace npzoo {

/// How finely hyper-parameters are integrated out; see adaptive_quadrature.
struct BayesOptions {
  int nodes = 8;            // along each side of a cell
  double tolerance = 2e-3;  // of a cell
  /// Periods from one end of a cell to the other, to begin with: they differ by so many cycles over the whole domain.
  double cycles = 0.25;

  /// Returns options with more nodes in smaller cells: the change of the result estimates its error.
  BayesOptions finer() const { return {nodes + 2, tolerance / 10, cycles / 2}; }
};

/// A kernel and the logarithm of its probability.
struct WeightedKernel {
  Kernel kernel;
  double log_weight = 0;
};

/// The best possible predictions of targets with an unknown kernel.
struct BayesPredictions {
  GpMarginals diagonal;                        // (Nt): means and variances of p(yt_i | context)
  std::vector<double> log_likelihood;          // (Nt): log p(yt_i | context)
  std::optional<double> joint_log_likelihood;  // log p(yt | context); none where targets carry no noise
};

/// Posterior of the kernel of a Gaussian process given a context, p(kernel | xc, yc): a sum over kinds of kernels and
/// an integral over the priors of their hyper-parameters (Rasmussen and Williams, 2006, section 5.2). Predictions are
/// mixtures of the exact ones. Log-likelihoods are in nats.
///
/// A period's likelihood has many narrow peaks. It is integrated over its inverse, in which they are equally wide.
class BayesPosterior {
 public:
  /// xc (Nc, Dx), yc (Nc). `drawn_with` is a kernel near which the posterior is known to peak, or will when the targets
  /// are seen: the one that the task was drawn with. Integrals do not depend on it, but narrow peaks are then not
  /// missed. Throws Error if the covariance of a kernel of the distribution is not positive definite.
  BayesPosterior(const GpDistribution& distribution, Inputs xc, std::span<const double> yc,
                 const BayesOptions& options = {}, const std::optional<Kernel>& drawn_with = {});

  /// The nodes of the integrals; probabilities sum to 1.
  const std::vector<WeightedKernel>& kernels() const { return kernels_; }

  BayesPredictions predict(Inputs xt, std::span<const double> yt) const;

 private:
  std::vector<double> xc_, yc_;
  std::int64_t dims_;
  double context_noise_, target_noise_;
  std::vector<WeightedKernel> kernels_;
};

}  // namespace npzoo
