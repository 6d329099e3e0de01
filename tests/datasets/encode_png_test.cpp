#include "npzoo/datasets/pictures/encode_png.h"

#include <doctest/doctest.h>

#include <span>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("encode_png: written pictures read back unchanged") {
  for (const std::int64_t channels : {1, 3})
    for (const auto& [height, width] : {std::pair{1, 1}, {3, 7}, {64, 2}, {33, 129}}) {
      Picture picture{height, width, channels};
      Random random(5);
      for (std::int64_t i = 0; i < height * width * channels; ++i)
        picture.bytes.push_back(static_cast<std::uint8_t>(random.integer(0, 256)));
      const std::string file = encode_png(picture, "p.png");
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(file.data());
      const Picture read = decode_picture({bytes, file.size()}, "p.png", 0);
      CHECK((read.height == height && read.width == width && read.channels == channels));
      CHECK(read.bytes == picture.bytes);
    }
}

TEST_CASE("encode_png: a picture without pixels is none") {
  CHECK(error_of([] { encode_png({0, 0, 1}, "p.png"); }).starts_with("[p.png] a PNG of 0 x 0 pixels cannot be made: "));
}
