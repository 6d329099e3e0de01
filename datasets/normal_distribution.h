#pragma once

namespace npzoo {

// The standard normal distribution in double, on the host. Its far tails keep their digits.

/// Φ(z).
double normal_probability(double z);
/// log Φ(z), also where Φ(z) is 0 in double.
double log_normal_probability(double z);
/// log(φ(z) + z Φ(z)), the expected improvement in standard deviations; to a relative 1e-11 for every z.
double log_improvement(double z);
/// The z with Φ(z) = p; p above 0 and below 1.
double normal_quantile(double p);

}  // namespace npzoo
