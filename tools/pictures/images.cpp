#include "tools/pictures/images.h"

#include <algorithm>
#include <cmath>

namespace npzoo {

plot::Color pixel_color(const ImageFormat& format, std::span<const double> values) {
  const auto share = [&](std::size_t channel) {
    return std::clamp(format.value.inverse(values[channel]) / 255, 0.0, 1.0);
  };
  if (format.channels == 1) return {share(0), share(0), share(0)};
  return {share(0), share(1), share(2)};
}

plot::Image image_of(const ImageFormat& format, std::span<const double> x, std::span<const double> values,
                     plot::Color blank) {
  plot::Image image{static_cast<std::size_t>(format.width), static_cast<std::size_t>(format.height), {}};
  image.pixels.assign(image.columns * image.rows, blank);
  const auto channels = static_cast<std::size_t>(format.channels);
  for (std::size_t i = 0; 2 * i + 1 < x.size(); ++i) {
    const double row = std::round(format.row.inverse(x[2 * i])),
                 column = std::round(format.column.inverse(x[2 * i + 1]));
    if (!(row >= 0 && row < static_cast<double>(format.height) && column >= 0 &&
          column < static_cast<double>(format.width)))
      continue;
    image.pixels[static_cast<std::size_t>(row) * image.columns + static_cast<std::size_t>(column)] =
        pixel_color(format, values.subspan(i * channels, channels));
  }
  return image;
}

plot::Panel image_panel(plot::Image image, std::string title) {
  const plot::Range x{0, static_cast<double>(image.columns)}, y{0, static_cast<double>(image.rows)};
  plot::Panel panel{.title = std::move(title), .x_range = x, .y_range = y, .axes = false};
  panel.layers.emplace_back(plot::Picture{std::move(image), x, y});
  return panel;
}

}  // namespace npzoo
