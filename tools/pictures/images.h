#pragma once

#include <span>
#include <string>

#include "datasets/image_format.h"
#include "tools/plot/chart.h"

namespace npzoo {

/// The colour of a pixel with these values, one for each channel; values beyond black and white are those.
plot::Color pixel_color(const ImageFormat& format, std::span<const double> values);

/// The pixels at points x (n, 2) in the colours of their values (n, channels), `blank` where there are none.
plot::Image image_of(const ImageFormat& format, std::span<const double> x, std::span<const double> values,
                     plot::Color blank);

/// Without axes, in units of pixels, from the lower left corner.
plot::Panel image_panel(plot::Image image, std::string title);

}  // namespace npzoo
