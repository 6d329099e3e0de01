#include "npzoo/datasets/pictures/decoders.h"
#include "npzoo/datasets/pictures/encode_png.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr char kHowToHaveImages[] =
    "this build of npzoo has neither PNG nor JPEG: build it with -Dimages=enabled, which needs libpng and libjpeg";

}  // namespace

StoredPicture decode_png(std::span<const std::uint8_t>, const std::string& name) {
  fail("[images] {}: cannot be read, since {}", name, kHowToHaveImages);
}

StoredPicture decode_jpeg(std::span<const std::uint8_t>, const std::string& name) {
  fail("[images] {}: cannot be read, since {}", name, kHowToHaveImages);
}

std::string encode_png(const Picture&, const std::string& name) {
  fail("[{}] cannot be made, since {}", name, kHowToHaveImages);
}

}  // namespace npzoo
