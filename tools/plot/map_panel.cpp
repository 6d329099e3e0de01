#include "tools/plot/map_panel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/engine/error.h"

namespace npzoo::tools::plot {

namespace {

constexpr double kLongSide = 260;                             // of a map, in canvas units
constexpr std::size_t kMostCells = 520;                       // along an axis: its pixels
constexpr double kFlattest = 4;                               // of maps with one scale for both axes
constexpr double kLeastShare = 1.0 / 20;                      // of a grid's cells that hold points
constexpr double kSmallest = 1.0 / 240, kLargest = 1.0 / 40;  // squares, in long sides of the points' extent

/// One coordinate of points (n, 2).
std::vector<double> coordinate(std::span<const double> x, std::size_t axis) {
  std::vector<double> values;
  values.reserve(x.size() / 2);
  for (std::size_t i = axis; i < x.size(); i += 2) values.push_back(x[i]);
  return values;
}

struct Steps {
  Range edges;
  std::size_t count;
};

/// The even steps that values are on.
std::optional<Steps> even_steps(std::vector<double> values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < 2) return {};
  std::vector<double> gaps;
  for (std::size_t i = 1; i < values.size(); ++i) gaps.push_back(values[i] - values[i - 1]);
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::ranges::nth_element(gaps, middle);
  double sum = 0, count = 0;
  for (const double gap : gaps) {  // those of one step: decimals may have been rounded
    if (gap > 1.5 * *middle || gap < 0.5 * *middle) continue;
    sum += gap;
    count += 1;
  }
  const double extent = values.back() - values.front(), steps = std::round(extent / sum * count);
  if (!(steps <= static_cast<double>(std::numeric_limits<std::int32_t>::max()))) return {};
  const double step = extent / steps;
  double before = -1;
  for (const double value : values) {
    constexpr double kRounded = 0.25;  // of decimals in a table
    const double at = (value - values.front()) / step, cell = std::round(at);
    if (std::abs(at - cell) > kRounded || cell == before) return {};
    before = cell;
  }
  return Steps{{values.front() - step / 2, values.back() + step / 2}, static_cast<std::size_t>(steps) + 1};
}

/// As few cells as to be seen, each of as many steps as the others.
void join_cells(Range& edges, std::size_t& count) {
  const std::size_t together = (count + kMostCells - 1) / kMostCells;
  const std::size_t joined = (count + together - 1) / together;
  edges.high += (edges.high - edges.low) / static_cast<double>(count) * static_cast<double>(joined * together - count);
  count = joined;
}

/// With an extent that both axes and doubles can show.
Range wide(Range range) {
  if (range.low > range.high) return {};
  const double magnitude = std::max(std::abs(range.low), std::abs(range.high));
  if (range.high - range.low > 1e-9 * magnitude) return range;
  const double half = magnitude > 0 ? 0.1 * magnitude : 0.5;
  return {range.low - half, range.high + half};
}

/// Returns the cell of a value on an axis of cells; `count` if there is none.
std::size_t cell_of(const Range& edges, std::size_t count, double value) {
  const double at = (value - edges.low) / (edges.high - edges.low) * static_cast<double>(count);
  return at >= 0 && at < static_cast<double>(count) ? static_cast<std::size_t>(at) : count;
}

std::vector<double> joined(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

struct Extents {
  Range x, y;
  double height() const { return (y.high - y.low) / (x.high - x.low); }
  bool one_scale() const { return height() <= kFlattest && height() >= 1 / kFlattest; }
};

Extents extents_of(std::span<const double> x) {
  return {wide(range_of({coordinate(x, 0)})), wide(range_of({coordinate(x, 1)}))};
}

}  // namespace

std::optional<Grid> grid_of(std::span<const double> x) {
  const auto across = even_steps(coordinate(x, 0)), up = even_steps(coordinate(x, 1));
  if (!across || !up) return {};
  const double cells = static_cast<double>(across->count) * static_cast<double>(up->count);
  if (static_cast<double>(x.size() / 2) < kLeastShare * cells) return {};
  return Grid{across->edges, up->edges, across->count, up->count};
}

Grid cells_for(std::span<const double> x) {
  if (auto grid = grid_of(x)) {
    join_cells(grid->x, grid->columns);
    join_cells(grid->y, grid->rows);
    return *grid;
  }
  const Extents extents = extents_of(x);
  const double height = extents.one_scale() ? extents.height() : 1;  // of a width of 1
  const double points = std::max(1.0, static_cast<double>(x.size() / 2)), side = std::max(1.0, height);
  const double cell = std::clamp(0.5 * std::sqrt(height / points), kSmallest * side, kLargest * side);
  const auto margin = [](const Range& range, double cells) {
    const double half = (range.high - range.low) / cells / 2;
    return Range{range.low - half, range.high + half};
  };
  const double columns = std::ceil(1 / cell), rows = std::ceil(height / cell);
  return {margin(extents.x, columns), margin(extents.y, rows), static_cast<std::size_t>(columns) + 1,
          static_cast<std::size_t>(rows) + 1};
}

Raster rasterise(const Grid& grid, const PlaneValues& shown, const ColorScale& scale) {
  check(shown.x.size() == 2 * shown.values.size(),
        "[plot] a map has {} coordinates and {} values, expected two for each", shown.x.size(), shown.values.size());
  std::vector<double> sums(grid.columns * grid.rows, 0), counts(sums.size(), 0);
  for (std::size_t i = 0; i < shown.values.size(); ++i) {
    const std::size_t column = cell_of(grid.x, grid.columns, shown.x[2 * i]);
    const std::size_t row = cell_of(grid.y, grid.rows, shown.x[2 * i + 1]);
    if (column == grid.columns || row == grid.rows || !std::isfinite(shown.values[i])) continue;
    sums[row * grid.columns + column] += shown.values[i];
    counts[row * grid.columns + column] += 1;
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = counts[i] > 0 ? sums[i] / counts[i] : std::numeric_limits<double>::quiet_NaN();
  return {grid, std::move(sums), scale};
}

Panel make_map(const MapPanel& map) {
  Panel panel{.title = map.title, .x_range = map.raster.grid.x, .y_range = map.raster.grid.y};
  panel.layers.emplace_back(map.raster);
  if (!map.marked.empty())
    panel.layers.emplace_back(Markers{.x = coordinate(map.marked, 0), .y = coordinate(map.marked, 1), .radius = 1.2});
  if (map.bar_label) panel.bar = ColorBar{map.raster.scale, *map.bar_label};
  return panel;
}

std::vector<Panel> make_maps(const Prediction2d& shown) {
  const std::vector<double> all = joined(shown.observed.x, shown.mean.x);
  const Grid grid = cells_for(all);
  const ColorScale values{wide(range_of({shown.observed.values, shown.mean.values}))};
  const ColorScale deviations{{0, wide(range_of({shown.std})).high}, ColorMap::plasma};
  const Raster observed = rasterise(grid, shown.observed, values);
  Raster mean = rasterise(grid, shown.mean, values);
  bool filled = false;
  if (grid_of(all))
    for (std::size_t i = 0; i < mean.values.size(); ++i)
      if (!std::isfinite(mean.values[i]) && std::isfinite(observed.values[i])) {
        mean.values[i] = observed.values[i];
        filled = true;
      }
  std::vector<Panel> panels{
      make_map({.title = "observed", .raster = observed}),
      make_map({.title = filled ? "observed and mean" : "mean", .raster = mean, .bar_label = shown.value_label}),
      make_map({.title = "standard deviation",
                .raster = rasterise(grid, {shown.mean.x, shown.std}, deviations),
                .bar_label = ""})};
  for (Panel& panel : panels) {
    panel.x_label = shown.x_label;
    panel.x_time = shown.x_time;
    panel.y_time = shown.y_time;
  }
  panels[0].y_label = shown.y_label;
  return panels;
}

Rectangle map_size(std::span<const double> x) {
  const Extents extents = extents_of(x);
  const double height = extents.one_scale() ? extents.height() : 1;
  return {0, 0, height > 1 ? kLongSide / height : kLongSide, height > 1 ? kLongSide : kLongSide * height};
}

}  // namespace npzoo::tools::plot
