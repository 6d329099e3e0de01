#include "npzoo/datasets/pictures/picture.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "npzoo/datasets/kinds/images/resize.h"
#include "npzoo/datasets/pictures/decoders.h"
#include "tests/datasets/picture_files.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

int colours(std::int64_t row, std::int64_t column, int channel) {
  return static_cast<int>((31 * row + 17 * column + 80 * channel) % 256);
}

int value_at(const Picture& p, std::int64_t row, std::int64_t column, std::int64_t channel) {
  return p.bytes[static_cast<std::size_t>((row * p.width + column) * p.channels + channel)];
}

/// The largest difference between a picture and what it should show.
int farthest(const Picture& picture, std::int64_t height, std::int64_t width, std::int64_t channels,
             const Pattern& expected) {
  REQUIRE((picture.height == height && picture.width == width && picture.channels == channels));
  int difference = 0;
  for (std::int64_t r = 0; r < height; ++r)
    for (std::int64_t c = 0; c < width; ++c)
      for (int k = 0; k < channels; ++k)
        difference = std::max(difference, std::abs(value_at(picture, r, c, k) - expected(r, c, k)));
  return difference;
}

Picture decoded(const Bytes& file, std::int64_t channels = 0) { return decode_picture(file, "a", channels); }

std::string message_of(const Bytes& file) {
  return error_of([&] { decoded(file); });
}

/// Changes of width and height in a PNG's header, with the check sum that belongs to them.
Bytes with_png_size(Bytes file, std::uint32_t width, std::uint32_t height) {
  for (int i = 0; i < 4; ++i) {
    file[16 + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(width >> (24 - 8 * i));
    file[20 + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(height >> (24 - 8 * i));
  }
  const auto sum = ::crc32(0, file.data() + 12, 17);
  for (int i = 0; i < 4; ++i) file[29 + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
  return file;
}

/// Changes of the size in a JPEG's frame header.
Bytes with_jpeg_size(Bytes file, std::uint32_t width, std::uint32_t height) {
  for (std::size_t i = 2; i + 9 < file.size(); ++i)
    if (file[i] == 0xff && (file[i + 1] == 0xc0 || file[i + 1] == 0xc2)) {
      file[i + 5] = static_cast<std::uint8_t>(height >> 8);
      file[i + 6] = static_cast<std::uint8_t>(height);
      file[i + 7] = static_cast<std::uint8_t>(width >> 8);
      file[i + 8] = static_cast<std::uint8_t>(width);
      break;
    }
  return file;
}

/// A file must be decoded, or refused in one line that names it.
bool is_one_line(const std::string& message) {
  return message.starts_with("[images] a: ") && message.find('\n') == message.npos && message.size() < 300;
}

}  // namespace

TEST_CASE("[pictures] PNG of every depth and kind of colour, interlaced or not") {
  for (const bool interlaced : {false, true}) {
    CAPTURE(interlaced);
    CHECK(farthest(decoded(png_file({.interlaced = interlaced}, colours)), 7, 9, 3, colours) == 0);
    CHECK(farthest(decoded(png_file({.depth = 16, .interlaced = interlaced}, colours)), 7, 9, 3, colours) == 0);
    CHECK(farthest(decoded(png_file({.channels = 1, .interlaced = interlaced}, colours)), 7, 9, 1, colours) == 0);
    CHECK(farthest(decoded(png_file({.channels = 1, .depth = 16, .interlaced = interlaced}, colours)), 7, 9, 1,
                   colours) == 0);
    for (const int depth : {1, 2, 4}) {
      const int most = (1 << depth) - 1;
      const auto few = [most](std::int64_t r, std::int64_t c, int) { return static_cast<int>((r + c) % (most + 1)); };
      const auto grey = [&](std::int64_t r, std::int64_t c, int) { return few(r, c, 0) * 255 / most; };
      CHECK(farthest(decoded(png_file({.channels = 1, .depth = depth, .interlaced = interlaced}, few)), 7, 9, 1,
                     grey) == 0);
      const auto looked_up = [&](std::int64_t r, std::int64_t c, int k) {
        const int i = few(r, c, 0);
        return k == 0 ? i : k == 1 ? 255 - i : i / 2;
      };
      const PngForm form{.depth = depth, .palette = true, .interlaced = interlaced};
      CHECK(farthest(decoded(png_file(form, few)), 7, 9, 3, looked_up) == 0);
    }
  }
}

TEST_CASE("[pictures] transparent pixels lie on white") {
  const auto on_white = [](int channels) {
    return [channels](std::int64_t r, std::int64_t c, int k) {
      const int alpha = colours(r, c, channels - 1);
      return (colours(r, c, k) * alpha + 255 * (255 - alpha) + 127) / 255;
    };
  };
  CHECK(farthest(decoded(png_file({.channels = 2}, colours)), 7, 9, 1, on_white(2)) == 0);
  CHECK(farthest(decoded(png_file({.channels = 4}, colours)), 7, 9, 3, on_white(4)) == 0);
  CHECK(farthest(decoded(png_file({.channels = 4, .depth = 16}, colours)), 7, 9, 3, on_white(4)) == 0);
  const auto hole = [](std::int64_t r, std::int64_t c, int) { return colours(r, c, 0) == 48 ? 255 : colours(r, c, 0); };
  CHECK(farthest(decoded(png_file({.channels = 1, .transparent_grey = 48}, colours)), 7, 9, 1, hole) == 0);
}

TEST_CASE("[pictures] grey out of colours, and colours out of grey") {
  const auto luma = [](std::int64_t r, std::int64_t c, int) {
    return static_cast<int>(
        std::lround(0.299 * colours(r, c, 0) + 0.587 * colours(r, c, 1) + 0.114 * colours(r, c, 2)));
  };
  CHECK(farthest(decoded(png_file({}, colours), 1), 7, 9, 1, luma) <= 1);
  const auto same = [](std::int64_t r, std::int64_t c, int) { return colours(r, c, 0); };
  CHECK(farthest(decoded(png_file({.channels = 1}, colours), 3), 7, 9, 3, same) == 0);
  CHECK(error_of([] { decoded(png_file({}, colours), 2); }) == "[images] 2 channels to read found, expected 1 or 3");
}

TEST_CASE("[pictures] JPEG of colours, grey and inks, at once or progressively") {
  const auto smooth = [](std::int64_t r, std::int64_t c, int k) {
    return static_cast<int>(60 + 8 * r + 5 * c + 20 * k);
  };
  for (const bool progressive : {false, true}) {
    CHECK(farthest(decoded(jpeg_file({.progressive = progressive}, smooth)), 8, 16, 3, smooth) <= 3);
    CHECK(farthest(decoded(jpeg_file({.channels = 1, .progressive = progressive}, smooth)), 8, 16, 1, smooth) <= 2);
    const auto inks = [&](std::int64_t r, std::int64_t c, int k) {
      return (smooth(r, c, k) * smooth(r, c, 3) + 127) / 255;
    };
    CHECK(farthest(decoded(jpeg_file({.channels = 4, .progressive = progressive}, smooth)), 8, 16, 3, inks) <= 3);
  }
}

TEST_CASE("[pictures] the orientation that Exif states is followed, in JPEG and PNG") {
  // Returns the pixel that a viewer shows of a stored picture with `wide` x `high` pixels.
  const auto stored = [](int orientation, std::int64_t high, std::int64_t wide, std::int64_t r, std::int64_t c) {
    switch (orientation) {
      case 2: return std::pair(r, wide - 1 - c);
      case 3: return std::pair(high - 1 - r, wide - 1 - c);
      case 4: return std::pair(high - 1 - r, c);
      case 5: return std::pair(c, r);
      case 6: return std::pair(high - 1 - c, r);
      case 7: return std::pair(high - 1 - c, wide - 1 - r);
      case 8: return std::pair(c, wide - 1 - r);
      default: return std::pair(r, c);
    }
  };
  const auto smooth = [](std::int64_t r, std::int64_t c, int) { return static_cast<int>(20 + 11 * r + 5 * c); };
  for (int orientation = 1; orientation <= 9; ++orientation) {  // 9 is none, and ignored
    CAPTURE(orientation);
    const bool turned = orientation >= 5 && orientation <= 8;
    for (const bool png : {false, true}) {
      const std::int64_t high = png ? 7 : 8, wide = png ? 9 : 16;
      const auto expected = [&](std::int64_t r, std::int64_t c, int) {
        const auto [row, column] = stored(orientation, high, wide, r, c);
        return smooth(row, column, 0);
      };
      for (const bool big_endian : {false, true}) {
        const Bytes file =
            png ? png_file({.channels = 1, .orientation = orientation}, smooth)
                : jpeg_file({.channels = 1, .orientation = orientation, .big_endian = big_endian}, smooth);
        CHECK(farthest(decoded(file), turned ? wide : high, turned ? high : wide, 1, expected) <= (png ? 0 : 2));
      }
    }
  }
}

TEST_CASE("[pictures] three hundred mutilated files: the right answer, or one clear line") {
  const std::vector<Bytes> whole{
      png_file({.width = 40, .height = 30}, colours),
      png_file({.width = 40, .height = 30, .depth = 4, .palette = true, .interlaced = true},
               [](std::int64_t r, std::int64_t c, int) { return static_cast<int>((r * c) % 16); }),
      png_file({.channels = 4, .depth = 16, .interlaced = true}, colours),
      jpeg_file({.width = 40, .height = 30, .quality = 90}, colours),
      jpeg_file({.width = 40, .height = 30, .progressive = true, .orientation = 6}, colours),
      jpeg_file({.width = 40, .height = 30, .channels = 4}, colours)};
  Random random(7);
  int mutilated = 0, refused = 0;
  for (std::size_t form = 0; form < whole.size(); ++form) {
    CAPTURE(form);
    const bool png = form < 3;
    const Picture right = decoded(whole[form]);
    const auto size = std::ssize(whole[form]);
    for (int i = 0; i < 30; ++i) {  // cut off
      Bytes file = whole[form];
      file.resize(static_cast<std::size_t>(i < 4 ? size - 1 - i : random.integer(0, size)));
      CAPTURE(file.size());
      CHECK(is_one_line(message_of(file)));
      ++mutilated;
    }
    for (int i = 0; i < 30; ++i) {  // bits turned
      Bytes file = whole[form];
      for (int bits = 0; bits <= i % 3; ++bits)
        file[static_cast<std::size_t>(random.integer(0, size))] ^= static_cast<std::uint8_t>(1 << random.integer(0, 8));
      ++mutilated;
      Picture found;
      const std::string message = error_of([&] { found = decoded(file); });
      if (message != "no error") {
        CAPTURE(message);
        CHECK(is_one_line(message));
        ++refused;
      } else if (png) {
        CHECK(found.bytes == right.bytes);  // its check sums tell
      }
    }
  }
  CHECK(mutilated == 360);
  CHECK(refused > 90);
}

TEST_CASE("[pictures] sizes that are not true take no memory") {
  const Bytes png = png_file({}, colours), jpeg = jpeg_file({}, colours);
  CHECK(message_of(with_png_size(png, 100'000, 100'000)) ==
        "[images] a: 100000 x 100000 pixels found, expected at least one and 67108864 in all at most");
  CHECK(message_of(with_png_size(png, 8000, 8000)) ==
        fmt::format("[images] a: a damaged PNG: 8000 x 8000 pixels in {} bytes", png.size()));
  CHECK(message_of(with_png_size(png, 0x7fffffff, 1)).starts_with("[images] a: "));
  CHECK(is_one_line(message_of(with_png_size(png, 0, 7))));
  CHECK(is_one_line(message_of(with_png_size(png, 0xffffffff, 0xffffffff))));
  CHECK(is_one_line(message_of(with_png_size(png, 9, 8))));
  CHECK(message_of(with_jpeg_size(jpeg, 65'000, 65'000)) ==
        "[images] a: 65000 x 65000 pixels found, expected at least one and 67108864 in all at most");
  CHECK(message_of(with_jpeg_size(jpeg, 8000, 8000)) ==
        fmt::format("[images] a: a damaged JPEG: 8000 x 8000 pixels in {} bytes", jpeg.size()));
  CHECK(is_one_line(message_of(with_jpeg_size(jpeg, 0, 8))));
  CHECK(message_of({}) == "[images] a: neither a PNG nor a JPEG, expected one of them");
  CHECK(message_of({'G', 'I', 'F', '8'}) == "[images] a: neither a PNG nor a JPEG, expected one of them");
}

TEST_CASE("[pictures] Exif data that lead nowhere say nothing") {
  CHECK(exif_orientation({}) == 1);
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    Bytes exif(static_cast<std::size_t>(random.integer(0, 40)));
    for (auto& byte : exif) byte = static_cast<std::uint8_t>(random.integer(0, 256));
    const Bytes begin{'I', 'I', 42, 0, 8, 0, 0, 0};
    if (exif.size() >= begin.size()) std::ranges::copy(begin, exif.begin());
    const int found = exif_orientation(exif);
    CHECK((found >= 1 && found <= 8));
  }
}

TEST_CASE("[pictures] resizing: weights of Keys' cubic, wider where pixels become fewer") {
  Picture line{1, 4, 1, {0, 0, 255, 255}};
  CHECK(resized(line, {0, 0, 4, 1}, 1, 4).bytes == line.bytes);
  // Twice as many: at a quarter of a pixel the cubic's weights are -.0703, .8672, .2266, -.0234 (Keys 1981, eq. 15);
  // weights beyond the edge are shared out among the others.
  const Picture twice = resized(line, {0, 0, 4, 1}, 1, 8);
  CHECK(twice.bytes == Bytes{0, 0, 0, 52, 203, 255, 255, 255});
  const Picture flat{3, 5, 3, Bytes(45, 77)};
  CHECK(resized(flat, {0, 0, 5, 3}, 17, 2).bytes == Bytes(17 * 2 * 3, 77));
  CHECK(resized(flat, {1.5, 0.5, 2, 2}, 4, 4).bytes == Bytes(48, 77));

  // Against the sum in double.
  Picture noise{23, 31, 3, {}};
  Random random(1);
  for (int i = 0; i < 23 * 31 * 3; ++i) noise.bytes.push_back(static_cast<std::uint8_t>(random.integer(0, 256)));
  const auto weight = [](double x) {
    x = std::abs(x);
    return x < 1 ? 1.5 * x * x * x - 2.5 * x * x + 1 : x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0.0;
  };
  for (const auto& [height, width] : {std::pair{8, 9}, {40, 12}}) {
    const Picture small = resized(noise, {0, 0, 31, 23}, height, width);
    const double dy = 23.0 / height, dx = 31.0 / width, wy = std::max(dy, 1.0), wx = std::max(dx, 1.0);
    int farthest_off = 0;
    for (int r = 0; r < height; ++r)
      for (int c = 0; c < width; ++c) {
        double sum = 0, all = 0;
        for (int i = 0; i < 23; ++i)
          for (int j = 0; j < 31; ++j) {
            const double w = weight((i + 0.5 - (r + 0.5) * dy) / wy) * weight((j + 0.5 - (c + 0.5) * dx) / wx);
            all += w;
            sum += w * value_at(noise, i, j, 1);
          }
        const int expected = static_cast<int>(std::lround(std::clamp(sum / all, 0.0, 255.0)));
        farthest_off = std::max(farthest_off, std::abs(value_at(small, r, c, 1) - expected));
      }
    CHECK(farthest_off <= 2);  // a byte is rounded once between the axes; weights of the second sum to at most 1.3
  }
}

TEST_CASE("[pictures] cropping") {
  const Picture wide{10, 30, 1, Bytes(300)};
  const Box centre = crop_box(wide, Crop::centre, 8, 16, "a");
  CHECK((centre.left == 5 && centre.top == 0 && centre.width == 20 && centre.height == 10));
  const Box all = crop_box(wide, Crop::none, 8, 16, "a");
  CHECK((all.left == 0 && all.top == 0 && all.width == 30 && all.height == 10));
  const Picture aligned{218, 178, 1, {}}, half{109, 89, 1, {}};
  const Box face = crop_box(aligned, Crop::face, 32, 32, "a"), small = crop_box(half, Crop::face, 32, 32, "a");
  CHECK((face.left == 15 && face.top == 40 && face.width == 148 && face.height == 148));
  CHECK((small.left == 7.5 && small.top == 20 && small.width == 74 && small.height == 74));
  CHECK(error_of([&] { crop_box(wide, Crop::face, 32, 32, "a"); }) ==
        "[images] a: 30 x 10 pixels found, expected an aligned picture of 178 x 218");
}
