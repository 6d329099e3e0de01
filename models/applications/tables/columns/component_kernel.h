#pragma once

#include <span>
#include <vector>

namespace npzoo {

/// The process of a component of variance 1: white noise, and exp(−t / range) cos(frequency · t) for the rest.
struct ComponentKernel {
  double range = 1, frequency = 0;
  double noise = 1;  // share of the white noise

  int states() const { return frequency > 0 ? 2 : 1; }
};

/// Finds the kernel of the largest likelihood on a grid for each component. `values` (components, times) with NaN where
/// one is missing; `times` ascend.
std::vector<ComponentKernel> fit_components(std::span<const double> values, std::span<const double> times);

}  // namespace npzoo
