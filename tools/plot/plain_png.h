#pragma once

#include <string>

#include "tools/plot/canvas.h"

namespace npzoo::tools::plot {

/// Returns the bytes of a PNG file of the image with 8 bits and opacity, without compression, which needs no library.
std::string plain_png(const Image& image);

/// Returns bytes as text, for a data URI.
std::string base64(const std::string& bytes);

}  // namespace npzoo::tools::plot
