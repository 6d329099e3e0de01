#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/models/applications/gaussian_process/gp_kernel.h"

namespace npzoo {

/// Takes points to inputs of an extent of about 1 and values of mean 0 and deviation 1.
struct GpScaling {
  std::vector<double> center, extent;  // (D); inputs of one group have one extent, and those of one group of slopes
  double shift = 0, scale = 1;         // of values

  /// x (n, D), row-major.
  std::vector<double> inputs(std::span<const double> x) const;
  std::vector<double> values(std::span<const double> y) const;
  /// The unit of a hyper-parameter other than a slope's deviation, in units of the data.
  double unit(const GpParameter& parameter, const std::vector<std::size_t>& group_of) const;
};

/// The scaling of observed points x (n, D), y (n). Of fewer than two points, and of equal values, the scale is
/// `usual_std` or, if that is 0, the size of the values; without a point the shift is `usual_mean`.
GpScaling gp_scaling(std::span<const double> x, std::span<const double> y, const std::vector<std::size_t>& group_of,
                     const std::vector<std::size_t>& slope_groups, double usual_mean, double usual_std);

}  // namespace npzoo
