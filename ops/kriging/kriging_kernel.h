#pragma once

namespace npzoo {

/// The covariance of a Gaussian process at two places, over the variance of the process:
///
///   (1 − p) matern(|r|) + p exp((cos(2π d / period) − 1) / width²) matern5/2(d / decay) + mean² + trend² x · x′
///
/// r is the difference of the places, each input over its length scale; d = |x − x′|. The periodic part is for one
/// input. All numbers are doubles, since kernels read banks as arrays.
struct KrigingKernel {
  double smoothness = 0;                 // of the Matérn part: 0, 1 or 2 for ½, 3/2, 5/2
  double inverse_length[3] = {1, 1, 1};  // of each input
  double relative = 0;                   // 1: length scales are in mean distances between points, not in units of x
  double noise = 0;                      // a variance, over that of the process
  double trend = 0;                      // variance of the slope along each input
  double periodic = 0;                   // p
  double period = 0;                     // in a bank the period's number: 0 is the strongest of the context
  double inverse_width = 0;              // 1 / width²
  double inverse_decay = 0;              // 1 / decay
  double log_weight = 0;                 // before anything is observed; sums to 1 in no particular unit
  double variance = 1;                   // of the process, where it has been estimated
};

}  // namespace npzoo
