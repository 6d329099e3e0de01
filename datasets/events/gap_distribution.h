#pragma once

#include "npzoo/engine/random.h"

namespace npzoo {

/// A distribution of gaps between events, which are above 0.
struct GapDistribution {
  enum class Kind : std::uint8_t { gamma, weibull, log_normal };

  Kind kind = Kind::gamma;
  double a = 1;  // shape or, of log-normal gaps, the mean of the logarithm
  double b = 1;  // scale or, of log-normal gaps, the standard deviation of the logarithm

  /// At a gap of 0 or more; ±∞ at 0 if the density has no other value there.
  double log_density(double gap) const;
  /// log P(longer than `gap`), to about 1e-14 of itself or, where it is nearer to 0, of 1.
  double log_survival(double gap) const;
  double draw(Random& random) const;
};

}  // namespace npzoo
