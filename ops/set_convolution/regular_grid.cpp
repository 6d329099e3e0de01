#include "npzoo/ops/set_convolution/regular_grid.h"

#include <algorithm>
#include <cmath>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostNodes = std::int64_t{1} << 40;

const GridAxis& checked(const GridAxis& axis) {
  check(axis.step > 0 && axis.count >= 0,
        "[regular_grid] found {} nodes in steps of {}, expected 0 or more in steps above 0", axis.count, axis.step);
  check(std::isfinite(axis.origin) && std::isfinite(axis.step),
        "[regular_grid] found an axis from {} in steps of {}, expected finite numbers", axis.origin, axis.step);
  check(axis.count <= kMostNodes, "[regular_grid] found {} nodes, expected at most {}", axis.count, kMostNodes);
  return axis;
}

}  // namespace

RegularGrid RegularGrid::over(const GridAxis& axis) { return {1, GridAxis{}, checked(axis)}; }

RegularGrid RegularGrid::over(const GridAxis& first, const GridAxis& second) {
  check(checked(first).count <= kMostNodes / std::max<std::int64_t>(checked(second).count, 1),
        "[regular_grid] found {} x {} nodes, expected at most {}", first.count, second.count, kMostNodes);
  return {2, first, second};
}

}  // namespace npzoo
