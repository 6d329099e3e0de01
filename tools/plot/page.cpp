#include "tools/plot/page.h"

#include <array>

#include "npzoo/engine/error.h"

namespace npzoo::tools::plot {

Format format_of(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  check(ending == ".svg" || ending == ".png", "[{}] has the ending \"{}\", expected .svg or .png", path.string(),
        ending);
  return ending == ".svg" ? Format::kSvg : Format::kPng;
}

Color palette(int index) {
  constexpr std::array<Color, 7> kColors{{{0.000, 0.447, 0.698},
                                          {0.835, 0.369, 0.000},
                                          {0.000, 0.620, 0.451},
                                          {0.800, 0.475, 0.655},
                                          {0.902, 0.624, 0.000},
                                          {0.337, 0.706, 0.914},
                                          {0.941, 0.894, 0.259}}};
  return kColors[static_cast<std::size_t>(index) % kColors.size()];
}

void check_page_size(const std::filesystem::path& path, double width, double height) {
  constexpr double kLargestSide = 16000.0;  // cairo's images end at 32767 pixels
  const auto fits = [](double side) { return side >= 1.0 && side <= kLargestSide; };
  check(fits(width) && fits(height), "[{}] has a size of {} by {} units, expected 1 to {}", path.string(), width,
        height, kLargestSide);
}

}  // namespace npzoo::tools::plot
