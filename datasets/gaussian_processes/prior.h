#pragma once

#include <cstdint>

#include "npzoo/datasets/gaussian_processes/covariance.h"
#include "npzoo/engine/random.h"

namespace npzoo {

/// Distribution of one positive hyper-parameter.
struct Prior {
  enum class Kind : std::uint8_t { constant, uniform, beta, log_uniform };

  Kind kind = Kind::constant;
  double a = 1;  // the constant, the lower bound, or the first shape
  double b = 0;  // the upper bound or the second shape

  double draw(Random& random) const;
  /// E[x²].
  double mean_square() const;
  bool operator==(const Prior&) const = default;
};

struct KernelPrior {
  KernelKind kind = KernelKind::rbf;
  Prior lengthscale, scale, period;
  Prior second_lengthscale{};

  /// Draws lengthscale, scale and then period or second length scale, where the kernel has one.
  Kernel draw(Random& random) const;
  bool operator==(const KernelPrior&) const = default;
};

}  // namespace npzoo
