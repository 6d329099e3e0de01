#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tools/plot/canvas.h"

namespace npzoo::tools::plot {

/// Throws Error unless a page may have this size.
void check_page_size(const std::filesystem::path& path, double width, double height);

inline bool is_finite(Point point) { return std::isfinite(point.x) && std::isfinite(point.y); }

/// The point, moved closer if it lies far outside any page: cairo's fixed-point coordinates end at 2^23.
inline Point bounded(Point point) {
  constexpr double kFarAway = 1e5;
  return {std::clamp(point.x, -kFarAway, kFarAway), std::clamp(point.y, -kFarAway, kFarAway)};
}

}  // namespace npzoo::tools::plot
