#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/plot/layers.h"

namespace npzoo::tools::plot {

/// How the colours of a panel are read, right of it.
struct ColorBar {
  ColorScale scale{};
  std::string label{};
};

struct Panel {
  std::string title{};
  std::string x_label{};
  std::string y_label{};
  std::optional<Range> x_range{};  // where not given: fits the layers
  std::optional<Range> y_range{};
  std::optional<TimeAxis> x_time{};  // x are days; years that ticks do not say stand behind x_label
  std::optional<TimeAxis> y_time{};
  std::vector<Tick> x_ticks{}, y_ticks{};  // such as names; empty: those of numbers or times
  std::vector<Layer> layers{};  // drawn in this order
  std::optional<ColorBar> bar{};
  bool axes = true;  // drawn and labelled; x_label stands alone where they are not
};

enum class LegendPlace { kNone, kBelow, kInside };  // inside: in the first panel's upper right corner

/// Panels in rows of `columns`, from left to right and from top to bottom. Sizes are canvas units. Rows that are too
/// long to be read are broken: first come the first parts of all rows, then their next ones.
struct Figure {
  std::string title{};
  int columns = 1;
  int most_columns = 8;  // beside each other
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

}  // namespace npzoo::tools::plot
