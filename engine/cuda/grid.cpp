#include "npzoo/engine/cuda/grid.h"

#include <limits>

#include "npzoo/engine/error.h"

namespace npzoo {

void check_grid(const char* kernel, const Grid& grid) {
  constexpr std::int64_t kMostX = std::numeric_limits<std::int32_t>::max(), kMostYZ = 65535;
  check(grid.x <= kMostX && grid.y <= kMostYZ && grid.z <= kMostYZ,
        "[launch] kernel {}: {} × {} × {} blocks found, expected at most {} × {} × {}", kernel, grid.x, grid.y, grid.z,
        kMostX, kMostYZ, kMostYZ);
}

}  // namespace npzoo
