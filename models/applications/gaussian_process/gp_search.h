#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npzoo/models/applications/gaussian_process/gp_fit.h"

namespace npzoo {

/// Hyper-parameters found, as logarithms.
struct GpSearchResult {
  GpKernel kernel;
  std::vector<double> logs;
  double log_density = 0;          // of the blocks, prior included
  std::int64_t fitted_points = 0;  // of all blocks; a point may be in two
};

/// The parts of observations that a fit looks at, without trends: all of at most 400; else blocks of 128 points, of
/// which a half are spread over all and a half hold a point's nearest ones.
std::vector<GpBlock> fit_blocks(const GpBlock& all, std::size_t dims);

/// Weak priors of observations whose inputs have extents of about 1, and whose values have mean 0 and deviation 1.
std::vector<LogNormal> weak_priors(const GpCovariance& covariance);

/// Finds hyper-parameters of such observations. `kernel` is "auto" or a kernel's text; `group_of` and `slope_of` are
/// those of GpCovariance. A search begins with long lengthscales, with short ones, with one short one among longer ones
/// for each group of inputs (of at most eight groups) and, of a periodic kernel, with the periods of the highest peaks
/// of the periodogram. The start that is likeliest after a few steps on at most 128 points goes on.
GpSearchResult search_hyperparameters(std::vector<GpBlock> blocks, const std::vector<std::size_t>& group_of,
                                      const std::vector<std::size_t>& slope_of, const std::string& kernel);

}  // namespace npzoo
