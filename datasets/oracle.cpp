#include "npzoo/datasets/oracle.h"

#include <cmath>

namespace npzoo {

bool agrees(const Estimate& estimate, double stated, double stated_error) {
  constexpr double kRounding = 0.01;
  const double error = std::isfinite(estimate.standard_error) ? estimate.standard_error : 0;
  return std::abs(estimate.value - stated) <= 3 * std::hypot(error, stated_error) + kRounding;
}

}  // namespace npzoo
