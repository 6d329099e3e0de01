#pragma once

#include <string>
#include <vector>

namespace npzoo::plot {

struct Range {
  double low = 0.0;
  double high = 1.0;
};

struct Tick {
  double value;
  std::string label;
};

/// Ticks at multiples of 1, 2 or 5 times a power of ten inside `range`, about `count` of them. None where the range is
/// empty, not finite, or of a width outside 1e-200 to 1e200.
std::vector<Tick> nice_ticks(Range range, int count);

}  // namespace npzoo::plot
