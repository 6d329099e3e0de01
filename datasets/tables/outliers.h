#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace npzoo {

/// Numbers of a column that are so far from the others that these look alike beside them.
struct FarNumbers {
  double furthest = 0;
  std::int64_t count = 0;
  double distance = 0;  // of the furthest: of inputs in extents of the others, of values in their standard deviations
  double low = 0, high = 0;      // of inputs: the range of those that are not far
  std::vector<double> values{};  // of values: the different ones
};

/// Inputs outside of the range of the others by more than 50 extents of it. At most a sixteenth at either end, but one,
/// count as far. None for fewer than four.
std::optional<FarNumbers> far_inputs(std::span<const double> x);

/// The distance of a value from all others, in their standard deviations, above which it is far.
inline constexpr double kFarFromAll = 100;

/// The least or the largest value, or up to four different ones at both ends together, if they are more than
/// kFarFromAll deviations of all other values away from their mean. Ten are enough for a number of nines alone, such as
/// −999, which often stands for a missing value. None for fewer than four other values (two beside nines), or if these
/// are all the same.
std::optional<FarNumbers> far_values(std::span<const double> y);

}  // namespace npzoo
