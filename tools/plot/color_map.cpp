#include "tools/plot/color_map.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace npzoo::tools::plot {

namespace {

constexpr std::size_t kStops = 10;  // evenly spread; colours between are mixed
constexpr std::array<std::uint32_t, kStops> kViridis{0x440154, 0x482878, 0x3e4989, 0x31688e, 0x26828e,
                                                     0x1f9e89, 0x35b779, 0x6ece58, 0xb5de2b, 0xfde725};
constexpr std::array<std::uint32_t, kStops> kPlasma{0x0d0887, 0x46039f, 0x7201a8, 0x9c179e, 0xbd3786,
                                                    0xd8576b, 0xed7953, 0xfb9f3a, 0xfdca26, 0xf0f921};

}  // namespace

Color color_of(ColorMap map, double share) {
  const auto& stops = map == ColorMap::viridis ? kViridis : kPlasma;
  const double at = std::clamp(share, 0.0, 1.0) * static_cast<double>(kStops - 1);
  const auto below = std::min(static_cast<std::size_t>(at), kStops - 2);
  const double rest = at - static_cast<double>(below);
  const auto part = [&](int shift) {
    const auto channel = [&](std::size_t stop) { return static_cast<double>(stops[stop] >> shift & 0xff) / 255; };
    return channel(below) + rest * (channel(below + 1) - channel(below));
  };
  return {part(16), part(8), part(0)};
}

Color ColorScale::operator()(double value) const {
  return color_of(map, (value - shown.low) / (shown.high - shown.low));
}

}  // namespace npzoo::tools::plot
