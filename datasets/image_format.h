#pragma once

#include <cstdint>

namespace npzoo {

/// offset + scale · x
struct AffineMap {
  double scale = 1, offset = 0;

  constexpr double operator()(double x) const { return offset + scale * x; }
  constexpr double inverse(double y) const { return (y - offset) / scale; }
  bool operator==(const AffineMap&) const = default;
};

/// How pictures are tasks: a point is a pixel, its inputs are (row, column), its values are the pixel's bytes.
struct ImageFormat {
  std::int64_t height = 0, width = 0;  // pixels
  std::int64_t channels = 1;           // 1: grey; 3: red, green, blue
  AffineMap row, column;                  // from places in pixels, the middle of the first one is 0, to inputs
  AffineMap value;                        // from bytes, 0 … 255, to values
};

}  // namespace npzoo
