#pragma once

#include <cstdint>

namespace npzoo {

/// Functions of a network's output whose values are positive.
enum class DeviationCurve : std::uint8_t {
  exp,
  softplus,
  root_softplus,  // √softplus(s)
  half_exp        // exp(s / 2)
};

/// A standard deviation: shift + scale · curve(s).
struct DeviationForm {
  DeviationCurve curve = DeviationCurve::exp;
  double scale = 1, shift = 0;
};

}  // namespace npzoo
