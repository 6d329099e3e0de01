#pragma once

#include <cstdint>

namespace npzoo {

/// The covariance of a Gaussian process at two places, divided by the variance of the process:
///
///   (1 − p) matern_ν(r) + p exp((cos(2π d / period) − 1) / width²) matern_5/2(q r) + 4 + trend (x − c) · (x′ − c)
///
/// r is the distance of the places, each input over its length scale, d = |x − x′|, and c is the middle of the
/// context's range. The 4 is the variance of an unknown mean. With width = ∞ the second part is not periodic. Periodic
/// kernels need a single input. All numbers are doubles, since kernels read banks as arrays.
struct KrigingKernel {
  double smoothness = 0;                 // 0, 1 or 2 for ν = ½, 3/2, 5/2
  double inverse_length[3] = {1, 1, 1};  // of each input
  double relative = 0;                   // 1: length scales are in mean distances between points, not in units of x
  double noise = 0;                      // a variance, over that of the process
  double trend = 0;                      // variance of the slope along each input
  double share = 0;                      // p
  double ratio = 1;                      // q: how much shorter the second part's length scales are
  double inverse_width = 0;              // 1 / width²
  double period = 0;                     // in a bank its number: 0 is the strongest of the context
  double log_weight = 0;                 // before anything is observed; any constant may be added to all of a bank
  double log_evidence = 0;               // log_weight once values are observed
  double variance = 1;                   // of the process, where it has been estimated
};

/// The largest number of kernels that are kept from a bank.
inline constexpr std::int64_t kMostKrigingKernels = 16;
/// Kernels less likely than this, relative to the likeliest, are ignored.
inline constexpr double kLeastKrigingLogWeight = -12;
/// Points in a block when kernels are weighed, and when a large bank is searched before that.
inline constexpr std::int64_t kKrigingBlock = 192, kKrigingSketch = 64;
/// Kernels of a bank that are weighed again after that.
inline constexpr std::int64_t kKrigingFinalists = 16;
/// Contexts with fewer points have no period.
inline constexpr std::int64_t kFewestForPeriod = 12;

}  // namespace npzoo
