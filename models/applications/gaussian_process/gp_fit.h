#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "npzoo/models/applications/gaussian_process/gp_kernel.h"

namespace npzoo {

/// Observations of one Gaussian process: the mean is `trend` times coefficients. The last of them are the slopes of the
/// covariance, with their normal priors. Those before have flat priors.
struct GpBlock {
  std::vector<double> x;        // (n, D)
  std::vector<double> y;        // (n)
  std::vector<double> trend{};  // (n, P), of full column rank where priors are flat; empty: the mean is 0

  std::size_t size() const { return y.size(); }
};

/// The density of observations and its slopes.
struct GpEvidence {
  double log_density = 0;     // nats
  std::vector<double> d_log;  // with respect to the logarithms of the hyper-parameters
};

/// The precisions of the coefficients of a trend with so many columns, in the order of GpBlock; 0: a flat prior.
std::vector<double> trend_precisions(const GpCovariance& covariance, std::size_t columns);

/// Returns log p(y) given the logarithms of hyper-parameters, of which the last is the noise's; with a trend the
/// restricted likelihood (Harville, Biometrika 1974): its coefficients are integrated out. Throws Error if the
/// covariance is not positive definite.
GpEvidence log_evidence(GpCovariance covariance, std::span<const double> logs, const GpBlock& block);
/// The sum over blocks, as if they were independent, on the threads of the pool.
GpEvidence log_evidence(const GpCovariance& covariance, std::span<const double> logs, std::span<const GpBlock> blocks);

/// A log-normal prior and bounds, all in logarithms.
struct LogNormal {
  double center, width, low, high;
};

struct ClimbOptions {
  int steps = 60;
  double least_gain = 0;              // nats: stops after eight steps that gained less in all; 0: never
  std::vector<double> first_steps{};  // of each logarithm, which change by up to five times as much; empty: 0.2
  std::vector<std::size_t> tied{};    // hyper-parameters that move together have the same number; empty: none do
};

/// Logarithms of hyper-parameters, and their log-density, prior included.
struct GpOptimum {
  std::vector<double> logs;
  double log_density = 0;
};

/// Returns the hyper-parameters of the largest posterior density that gradient ascent from `start` passes (iRprop−;
/// Igel and Hüsken, 2003). Where `evidence` throws it goes back and takes smaller steps; throws Error if it throws at
/// `start`. It does not stop at `start` because eight steps gained nothing, but takes smaller steps as well.
GpOptimum climb_evidence(const std::function<GpEvidence(std::span<const double> logs)>& evidence,
                         std::span<const LogNormal> priors, std::vector<double> start, const ClimbOptions& options);

}  // namespace npzoo
