#pragma once

namespace npzoo {

/// The range of sizes of numbers in protocols and of models' options. Squares of the largest fit float32.
inline constexpr double kLargestNumber = 1e15, kSmallestNumber = 1e-30;

/// Describes what a number of a protocol or a model's option must be.
struct NumberRule {
  bool (*holds)(double);
  const char* expected;
  bool any_size = false;  // true for numbers in the units of somebody's data: only `holds` counts
};
extern const NumberRule kFinite, kPositive, kNonNegative, kAtLeastOne, kBelowOne, kShare;
/// The same in the units of somebody's data, where no size is unusual.
extern const NumberRule kAnyFinite, kAnyPositive;

/// Returns true for 0 and for numbers whose size is from kSmallestNumber to kLargestNumber, or of any size if the rule
/// says so.
bool size_allowed(double x, const NumberRule& rule);
/// Describes those sizes: "0 or a size from 1e-30 to 1e15".
extern const char* const kAllowedSizes;

}  // namespace npzoo
