#pragma once

#include "npzoo/datasets/model_config.h"

namespace npzoo {

/// Reads `min_std`, the least standard deviation that a model predicts: 0 for none, or a number whose square float32
/// can hold. Throws Error for anything else.
inline double read_min_std(ConfigReader& reader) {
  constexpr NumberRule kFloor{[](double x) { return x == 0 || (x >= 1e-9 && x <= 1e6); },
                              "0 or a number from 1e-9 to 1e6"};
  return reader.number("min_std", "least standard deviation of predictions, in units of the values; 0: none", kFloor);
}

}  // namespace npzoo
