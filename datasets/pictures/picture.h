#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace npzoo {

/// A picture of any size, as bytes.
struct Picture {
  std::int64_t height = 0, width = 0, channels = 0;  // channels: 1 is grey, 3 are red, green and blue
  std::vector<std::uint8_t> bytes{};                 // (height, width, channels)
};

/// More pixels than these are refused before memory is taken for them.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;
/// More bytes than these are no picture.
inline constexpr std::int64_t kMostPictureBytes = std::int64_t{1} << 29;

/// Decodes a PNG or a JPEG, of any depth and kind of colour, as it is to be looked at: 16 bits are rounded to 8,
/// palettes are looked up, what is transparent lies on white, CMYK becomes RGB, and the orientation that Exif states is
/// followed. Colour profiles are not. Grey is the luma of ITU-R BT.601 where `channels` is 1 and the picture has
/// colours; `channels` is 1, 3, or 0 for as many as the picture has. Throws Error, one line that begins with `name`,
/// for what is neither, damaged, cut off, or larger than kMostPixels.
Picture decode_picture(std::span<const std::uint8_t> file, const std::string& name, std::int64_t channels);

/// The same of a file.
Picture read_picture(const std::filesystem::path& path, std::int64_t channels);

}  // namespace npzoo
