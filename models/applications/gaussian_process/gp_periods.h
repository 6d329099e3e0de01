#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace npzoo {

/// Returns at most three likely periods of values y (n) at places x (n), the likeliest first; the places have an extent
/// of about 1. The highest peaks of the periodogram, their doubles and their triples are refined by least squares with
/// a line and up to four harmonics, and sorted by the Bayesian information criterion. At least one cycle lies within
/// the extent.
std::vector<double> likely_periods(std::span<const double> x, std::span<const double> y);

}  // namespace npzoo
