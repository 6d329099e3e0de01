#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "npzoo/models/applications/optimise/surrogate.h"

namespace npzoo {

/// Rules that score a point for the next evaluation of a function to minimise; a larger score is better.
///
///     expected_improvement      E[max(0, best − margin − y)]
///     log_expected_improvement  its logarithm, which keeps its slope where the former is 0 in double
///     confidence_bound          −mean + width · std, with the mean and the standard deviation of the whole mixture
///     improvement_probability   P(y < best − margin)
///
/// For a mixture, the first, the second and the last are exact sums over the components; the third uses the law of
/// total variance. Sources: Jones, Schonlau and Welch, "Efficient global optimization of expensive black-box
/// functions", 1998; Ament et al., "Unexpected improvements to expected improvement for Bayesian optimization", 2023;
/// Srinivas et al., "Gaussian process optimization in the bandit setting", 2010; Kushner, 1964.
enum class AcquisitionKind : std::uint8_t {
  expected_improvement,
  log_expected_improvement,
  confidence_bound,
  improvement_probability
};

/// "ei", "log-ei", "ucb", "pi".
std::string_view to_string(AcquisitionKind kind);
/// Returns none for another name.
std::optional<AcquisitionKind> find_acquisition(std::string_view name);
/// Throws Error, listing them, for another name.
AcquisitionKind acquisition_kind(std::string_view name);

struct Acquisition {
  AcquisitionKind kind = AcquisitionKind::log_expected_improvement;
  double width = 2;   // "ucb": standard deviations between mean and bound
  double margin = 0;  // "ei", "log-ei", "pi": improvement that counts as none, in units of the values
};

/// Means and standard deviations of mixtures (B, N).
struct BeliefMoments {
  std::vector<double> mean, std;
};
BeliefMoments moments_of(const Belief& belief);

/// Scores every point of a belief about B tasks; best (B). Fills `slopes` with derivatives unless it is null. Throws
/// Error if the number of points is not a multiple of B.
std::vector<double> acquire(const Acquisition& acquisition, const Belief& belief, std::span<const double> best,
                            BeliefSlopes* slopes = nullptr);

}  // namespace npzoo
