#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tools/plot/canvas.h"
#include "tools/plot/ticks.h"

namespace npzoo::plot {

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

/// Rectangles of one size around points, each in the colour of its value: white at the lower end of `shown` or below
/// it, `color` at the upper end or above it.
struct Cells {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> values;
  double width = 0.0;
  double height = 0.0;
  Range shown{};
  Color color = palette(0);
  std::string label{};
};

using Layer = std::variant<Band, Line, Markers, Cells>;

struct Panel {
  std::string title{};
  std::string x_label{};
  std::string y_label{};
  std::optional<Range> x_range{};  // where not given: fits the layers
  std::optional<Range> y_range{};
  std::vector<Layer> layers{};  // drawn in this order
};

enum class LegendPlace { kNone, kBelow, kInside };  // inside: in the first panel's upper right corner

/// Panels in rows of `columns`, from left to right and from top to bottom. Sizes are canvas units.
struct Figure {
  std::string title{};
  int columns = 1;
  double panel_width = 250.0;
  double panel_height = 160.0;
  bool share_y = false;  // the panels of a row have one y range, labelled at the first
  LegendPlace legend = LegendPlace::kBelow;
  std::vector<Panel> panels{};
};

/// The bytes of a file `path`, .svg or .png, that shows `figure`. Throws Error for another ending and for vectors of
/// different lengths in one layer.
std::string draw_figure(const Figure& figure, const std::filesystem::path& path);

/// The same, written whole or not at all.
void write_figure(const Figure& figure, const std::filesystem::path& path);

}  // namespace npzoo::plot
