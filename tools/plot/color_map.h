#pragma once

#include <cstddef>

#include "tools/plot/canvas.h"
#include "tools/plot/ticks.h"

namespace npzoo::tools::plot {

/// Maps of even steps for every kind of colour vision, dark to light, neither of which reaches the white of a page
/// (van der Walt and Smith, matplotlib 2.0).
enum class ColorMap { viridis, plasma };

/// At a share of the way, from 0 to 1.
Color color_of(ColorMap map, double share);

/// The colours of values: those beyond an end of `shown` have that end's.
struct ColorScale {
  Range shown{};
  ColorMap map = ColorMap::viridis;

  Color operator()(double value) const;
};

/// Cells of equal size in a rectangle.
struct Grid {
  Range x{}, y{};  // its edges
  std::size_t columns = 0, rows = 0;
};

}  // namespace npzoo::tools::plot
