#include "tools/plot/map_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/error.h"

namespace npzoo::plot {

namespace {

/// One coordinate of points (n, 2).
std::vector<double> coordinate(const std::vector<double>& x, std::size_t axis) {
  std::vector<double> values;
  for (std::size_t i = axis; i < x.size(); i += 2) values.push_back(x[i]);
  return values;
}

/// In ascending order, each once.
std::vector<double> different(std::vector<double> values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// The step of values that ascend evenly, else 0; two at least.
double even_step(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double step = (values.back() - values.front()) / static_cast<double>(values.size() - 1);
  for (std::size_t i = 1; i < values.size(); ++i)
    if (std::abs(values[i] - values[i - 1] - step) > 1e-3 * step) return 0;
  return step;
}

}  // namespace

Panel make_map(const MapPanel& map) {
  check(map.x.size() == 2 * map.values.size(), "[plot] {} has {} coordinates and {} values, expected two for each",
        map.title, map.x.size(), map.values.size());
  check(map.shown.low < map.shown.high, "[plot] {} shows values from {} to {}, expected ends in ascending order",
        map.title, map.shown.low, map.shown.high);
  Panel panel{.title = map.title, .x_label = fmt::format("{:.3g} to {:.3g}", map.shown.low, map.shown.high)};
  panel.layers.emplace_back(Cells{.x = coordinate(map.x, 0),
                                  .y = coordinate(map.x, 1),
                                  .values = map.values,
                                  .width = map.side,
                                  .height = map.side,
                                  .shown = map.shown,
                                  .color = map.color});
  if (!map.marked.empty())
    panel.layers.emplace_back(Markers{.x = coordinate(map.marked, 0), .y = coordinate(map.marked, 1), .radius = 1.2});
  return panel;
}

double cell_side(const std::vector<double>& x, double otherwise) {
  const std::vector<double> across = different(coordinate(x, 0)), down = different(coordinate(x, 1));
  const double width = even_step(across), height = even_step(down);
  const bool grid = width > 0 && height > 0 && across.size() * down.size() == x.size() / 2;
  return grid ? std::min(width, height) : otherwise;
}

}  // namespace npzoo::plot
