#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace npzoo::plot {

struct Range {
  double low = 0.0;
  double high = 1.0;
};

/// From the least to the largest of some values that can be drawn: those that are not finite, or so large that the
/// width of a range would not be, are left out. Where none is left `low` is above `high`.
Range range_of(std::initializer_list<std::span<const double>> values);

struct Tick {
  double value;
  std::string label;
};

/// Ticks at multiples of 1, 2 or 5 times a power of ten inside `range`, about `count` of them. None where the range is
/// empty, not finite, or of a width outside 1e-200 to 1e200.
std::vector<Tick> nice_ticks(Range range, int count);

}  // namespace npzoo::plot
