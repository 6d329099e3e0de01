#pragma once

#include "npzoo/datasets/boost_math.h"  // before Boost.Math

#include <algorithm>
#include <boost/math/policies/policy.hpp>
#include <cmath>
#include <limits>

#include "npzoo/engine/error.h"

// Helpers of npzoo/datasets/distributions.

namespace npzoo::distribution_math {

/// With this policy the functions of Boost return NaN or infinity for odd arguments, instead of throwing.
using Quiet =
    boost::math::policies::policy<boost::math::policies::domain_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::pole_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// log(1 + exp(x)), without overflow.
inline double log_one_plus_exp(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
/// The logarithms of a probability and of its complement, from its logit.
inline double log_of_logit(double logit) { return -log_one_plus_exp(-logit); }
inline double log_not_of_logit(double logit) { return -log_one_plus_exp(logit); }

inline bool is_whole(double y) { return y >= 0 && y == std::floor(y) && y < kInfinite; }

inline void check_level(double level) {
  check(0 < level && level < 1, "[quantile] p is {}, expected above 0 and below 1", level);
}

}  // namespace npzoo::distribution_math
