#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tools/plot/canvas.h"
#include "tools/plot/color_map.h"
#include "tools/plot/ticks.h"

namespace npzoo::tools::plot {

// Layers hold data in the units of the axes. The vectors of one layer have the same length, which may be 0. A value
// that is not finite leaves a gap. A layer without a label is not in the legend; several with one label share an entry.

/// The area between two curves.
struct Band {
  std::vector<double> x;
  std::vector<double> lower;
  std::vector<double> upper;
  Color color = palette(0).with_alpha(0.22);
  std::string label{};
};

struct Line {
  std::vector<double> x;
  std::vector<double> y;
  Color color = palette(0);
  double width = 1.5;
  bool dashed = false;
  std::string label{};
};

struct Markers {
  std::vector<double> x;
  std::vector<double> y;
  Color color = kBlack;
  double radius = 2.8;
  std::string label{};
};

/// Cells of equal size that fill a rectangle, each in the colour of its value.
struct Raster {
  Grid grid{};
  std::vector<double> values;  // (rows, columns), both ascending
  ColorScale scale{};
};

/// An image that fills a rectangle.
struct Picture {
  Image image;
  Range x{}, y{};  // its edges
};

using Layer = std::variant<Band, Line, Markers, Raster, Picture>;

/// Place of a panel's data on the canvas.
struct Frame {
  Range x, y;
  Rectangle area{};

  double left(double value) const { return area.x + (value - x.low) / (x.high - x.low) * area.width; }
  double top(double value) const { return area.bottom() - (value - y.low) / (y.high - y.low) * area.height; }
  Point at(double vx, double vy) const { return {left(vx), top(vy)}; }
};

/// Returns the extent of the data: empty, low above high, if none is finite.
Range x_extent(const Layer& layer);
Range y_extent(const Layer& layer);

/// "" for layers that no legend shows.
const std::string& label_of(const Layer& layer);
/// Throws Error for vectors of different lengths.
void check_lengths(const Layer& layer);

void draw(Canvas& canvas, const Frame& frame, const Layer& layer);
/// In a legend: from `start` to the right, centred vertically.
void draw_swatch(Canvas& canvas, Point start, double width, const Layer& layer);

}  // namespace npzoo::tools::plot
