#include "npzoo/models/convcnp/grids.h"

#include <cmath>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr double kMargin = 0.1;
constexpr std::int64_t kMostNodes = 1 << 24;

/// A whole number that rounding has left a little above itself is not rounded up.
double rounded_up(double x) { return std::ceil(x - 1e-9); }

/// `count` nodes from `low` to `high`.
GridAxis between(double low, double high, double count) {
  const double steps = std::max(count - 1, 1.0);
  return {low, (high - low) / steps, static_cast<std::int64_t>(std::min(count, static_cast<double>(kMostNodes) + 1))};
}

Extent read_extent(ConfigReader& reader, const std::string& suffix, const char* model) {
  const bool first = suffix.empty();
  const Extent extent{
      reader.number("grid_low" + suffix, first ? "least input of the grid" : "the same of the second input", kFinite),
      reader.number("grid_high" + suffix, first ? "largest input of the grid" : "the same of the second input",
                    kFinite)};
  reader.expect(extent.low < extent.high, "[{}] grid_low{} is {} and grid_high{} {}, expected a range", model, suffix,
                extent.low, suffix, extent.high);
  return extent;
}

}  // namespace

std::array<Extent, 2> read_extents(ConfigReader& reader, std::int64_t dim_x, const char* model) {
  check(dim_x == 1 || dim_x == 2, "[{}] dim_x is {}, expected 1 or 2: convolutions are over one input or two", model,
        dim_x);
  const Extent first = read_extent(reader, "", model);
  return {first, dim_x == 2 && reader.has("grid_low_2") ? read_extent(reader, "_2", model) : first};
}

GridAxis convcnp_axis(const Extent& extent, double points_per_unit, std::int64_t multiple) {
  const double low = extent.low - kMargin, high = extent.high + kMargin, of = static_cast<double>(multiple);
  return between(low, high, of * rounded_up(points_per_unit * (high - low) / of));
}

GridAxis dl4bi_axis(const Extent& extent, double points_per_unit) {
  return between(extent.low, extent.high, std::floor(points_per_unit * (extent.high - extent.low)));
}

GridAxis convgnp_axis(const Extent& extent, double points_per_unit, std::int64_t multiple, double margin) {
  const double step = 1 / points_per_unit, of = static_cast<double>(multiple);
  const double low = extent.low - margin - step, high = extent.high + margin + step;
  const double needed = (high - low) / step + 1, count = of * rounded_up(needed / of);
  const double first = std::nearbyint((low - (count - needed) * step / 2) / step);
  return {first * step, step, static_cast<std::int64_t>(std::min(count, static_cast<double>(kMostNodes) + 1))};
}

GridAxis pixel_axis(const Extent& extent, std::int64_t count) {
  return between(extent.low, extent.high, static_cast<double>(count));
}

RegularGrid checked_grid(std::int64_t dim_x, const GridAxis& first, const GridAxis& last, const char* model) {
  const std::int64_t nodes = dim_x == 1 ? last.count : first.count * last.count;
  check(nodes >= 1 && nodes <= kMostNodes, "[{}] the grid has {} nodes, expected 1 to {}", model, nodes, kMostNodes);
  return dim_x == 1 ? RegularGrid::over(last) : RegularGrid::over(first, last);
}

}  // namespace npzoo
