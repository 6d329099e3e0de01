#pragma once

#include <string>
#include <vector>

#include "tools/plot/chart.h"

namespace npzoo::plot {

/// Values at points of a plane, as a panel: a cell around each point, in the colour of its value.
struct MapPanel {
  std::string title{};
  std::vector<double> x;       // (n, 2)
  std::vector<double> values;  // (n)
  double side = 0.0;           // of a cell
  Range shown{};               // from white to `color`
  Color color = palette(0);
  std::vector<double> marked{};  // (m, 2): points drawn over it
};

/// Without ranges of the axes; the range of values is its label. Throws Error where lengths differ and where `shown` is
/// empty.
Panel make_map(const MapPanel& map);

/// The smallest distance between points (n, 2) along either axis where they are the points of a regular grid of at
/// least two by two, else `otherwise`.
double cell_side(const std::vector<double>& x, double otherwise);

}  // namespace npzoo::plot
