#include "npzoo/datasets/number_rule.h"

#include <cmath>

namespace npzoo {

const NumberRule kFinite{[](double x) { return std::isfinite(x); }, "a finite number"};
const NumberRule kPositive{[](double x) { return x > 0 && std::isfinite(x); }, "a number > 0"};
const NumberRule kNonNegative{[](double x) { return x >= 0 && std::isfinite(x); }, "a number >= 0"};
const NumberRule kAtLeastOne{[](double x) { return x >= 1 && std::isfinite(x); }, "a number >= 1"};
const NumberRule kBelowOne{[](double x) { return x >= 0 && x < 1; }, "a number >= 0 and < 1"};
const NumberRule kShare{[](double x) { return x >= 0 && x <= 1; }, "a number from 0 to 1"};
const NumberRule kAnyFinite{kFinite.holds, kFinite.expected, true};
const NumberRule kAnyPositive{kPositive.holds, kPositive.expected, true};

const char* const kAllowedSizes = "0 or a number whose size is from 1e-30 to 1e15";

bool size_allowed(double x, const NumberRule& rule) {
  const double size = std::abs(x);
  return rule.any_size || size == 0 || (size >= kSmallestNumber && size <= kLargestNumber);
}

}  // namespace npzoo
