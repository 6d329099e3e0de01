#include "npzoo/datasets/pictures/picture.h"

#include <algorithm>
#include <string_view>

#include "npzoo/datasets/pictures/decoders.h"
#include "npzoo/datasets/pictures/whole_bytes.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

bool begins_with(std::span<const std::uint8_t> file, std::string_view magic) {
  return file.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), file.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

/// Luma of ITU-R BT.601, in parts of 65536.
std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
}

Picture with_channels(Picture picture, std::int64_t channels) {
  if (channels == 0 || channels == picture.channels) return picture;
  const std::int64_t pixels = picture.height * picture.width;
  Picture result{picture.height, picture.width, channels};
  result.bytes.resize(static_cast<std::size_t>(pixels * channels));
  const std::uint8_t* from = picture.bytes.data();
  std::uint8_t* to = result.bytes.data();
  for (std::int64_t i = 0; i < pixels; ++i) {
    if (channels == 1)
      to[i] = luma(from + 3 * i);
    else
      std::fill_n(to + 3 * i, 3, from[i]);
  }
  return result;
}

}  // namespace

void check_picture_size(std::int64_t width, std::int64_t height, const std::string& name) {
  check(width > 0 && height > 0 && width <= kMostPixels / height,
        "[images] {}: {} x {} pixels found, expected at least one and {} in all at most", name, width, height,
        kMostPixels);
}

Picture decode_picture(std::span<const std::uint8_t> file, const std::string& name, std::int64_t channels) {
  check(channels == 0 || channels == 1 || channels == 3, "[images] {} channels to read found, expected 1 or 3",
        channels);
  const bool png = begins_with(file, "\x89PNG\r\n\x1a\n"), jpeg = begins_with(file, "\xff\xd8");
  check(png || jpeg, "[images] {}: neither a PNG nor a JPEG, expected one of them", name);
  StoredPicture stored = png ? decode_png(file, name) : decode_jpeg(file, name);
  return with_channels(upright(std::move(stored.picture), stored.orientation), channels);
}

Picture read_picture(const std::filesystem::path& path, std::int64_t channels) {
  ReadOnlyFile file(path);
  std::vector<std::uint8_t> bytes;
  for (std::size_t have = 0;;) {
    bytes.resize(have + (std::size_t{1} << 16));
    const std::size_t got = file.read(std::as_writable_bytes(std::span(bytes).subspan(have)));
    bytes.resize(have += got);
    if (got == 0) break;
    check(static_cast<std::int64_t>(have) <= kMostPictureBytes,
          "[images] {}: more than {} bytes found, expected a picture", file.name(), kMostPictureBytes);
  }
  return decode_picture(bytes, file.name(), channels);
}

}  // namespace npzoo
