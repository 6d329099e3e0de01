#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/plot/chart.h"

namespace npzoo::tools::plot {

/// One value at each of some points of a plane.
struct PlaneValues {
  std::vector<double> x{};  // (n, 2)
  std::vector<double> values{};
};

/// The cells of an even grid that points (n, 2) are on, which may have holes but not more than nineteen cells of
/// twenty. None for points that are on no such grid, and where it has one row or column alone.
std::optional<Grid> grid_of(std::span<const double> x);

/// Cells to show points (n, 2) by: those of their grid, several together where there are more than can be seen, else
/// squares that are small where there are many points.
Grid cells_for(std::span<const double> x);

/// The mean value of the points in each cell; blank if there are none. Points outside and values that are not finite
/// are left out. Throws Error if there are not two coordinates for each value.
Raster rasterise(const Grid& grid, const PlaneValues& shown, const ColorScale& scale);

/// A map, with points drawn over it. The axes end with the grid.
struct MapPanel {
  std::string title{};
  Raster raster{};
  std::vector<double> marked{};            // (m, 2)
  std::optional<std::string> bar_label{};  // with a colour bar
};

Panel make_map(const MapPanel& map);

/// Observations and predictions of one value of two inputs.
struct Prediction2d {
  std::string x_label{}, y_label{}, value_label{};
  std::optional<TimeAxis> x_time{}, y_time{};  // of inputs that are days
  PlaneValues observed{};
  PlaneValues mean{};
  std::vector<double> std{};  // at the points of `mean`
};

/// Three maps of the same cells: observed, mean, standard deviation; the former two in the same colours. Where points
/// are on a grid, cells without a mean show what was observed there.
std::vector<Panel> make_maps(const Prediction2d& shown);

/// Width and height for maps of points (n, 2): with one scale for both axes where that is not too flat or too narrow.
Rectangle map_size(std::span<const double> x);

}  // namespace npzoo::tools::plot
