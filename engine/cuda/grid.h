#pragma once

#include <cstdint>

namespace npzoo {

/// The blocks of a launch along each axis. Kernel sources count them in 64 bits, so that no number wraps on its way to
/// the check.
struct Grid {
  Grid(std::int64_t x_extent, std::int64_t y_extent = 1, std::int64_t z_extent = 1)
      : x(x_extent), y(y_extent), z(z_extent) {}

  std::int64_t blocks() const { return x * y * z; }

  std::int64_t x, y, z;
};

/// Throws Error if a device cannot count the blocks: it takes 2³¹ − 1 along x, 65535 along y and z.
void check_grid(const char* kernel, const Grid& grid);

}  // namespace npzoo
