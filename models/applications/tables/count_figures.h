#pragma once

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/gaussian_mixture.h"

namespace npzoo {

/// More whole numbers than this are as good as a continuum.
inline constexpr double kMostCounts = 4096;

/// Moments of a whole number Y from `first` to `last`, from the probabilities `above(k)` of Y > k.
template <class F>
ValueMoments moments_of_counts(double first, double last, const F& above) {
  double mean = 0, square = 0;  // of Y − first
  for (double k = 0; first + k < last; ++k) {
    const double probability = above(first + k);
    mean += probability;
    square += (2 * k + 1) * probability;
  }
  return {first + mean, std::sqrt(std::max(0.0, square - mean * mean))};
}

/// The continuous ranked probability score of a whole number Y from `first` to `last` at y, from the probabilities
/// `at_most(k)` of Y ≤ k and `above(k)` of Y > k.
template <class F, class G>
double crps_of_counts(double first, double last, double y, const F& at_most, const G& above) {
  double sum = 0;
  for (double k = std::min(first, std::floor(y)); k < std::max(last, y); ++k) {
    const double off = k >= y ? above(k) : at_most(k);
    sum += off * off;
  }
  return sum;
}

}  // namespace npzoo
