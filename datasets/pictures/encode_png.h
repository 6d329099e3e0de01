#pragma once

#include <string>

#include "npzoo/datasets/pictures/picture.h"

namespace npzoo {

/// The bytes of a PNG file of 8 bits, grey or RGB. Throws Error, opened by `name`, for a picture that none can be.
std::string encode_png(const Picture& picture, const std::string& name);

}  // namespace npzoo
