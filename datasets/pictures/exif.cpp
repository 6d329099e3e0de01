#include <algorithm>
#include <array>

#include "npzoo/datasets/pictures/decoders.h"

namespace npzoo {

namespace {

/// Numbers of TIFF data, in their byte order. 0 stands for what lies outside.
class TiffNumbers {
 public:
  explicit TiffNumbers(std::span<const std::uint8_t> bytes) : bytes_(bytes), big_(!bytes.empty() && bytes[0] == 'M') {}

  std::uint32_t at(std::size_t offset, std::size_t count) const {
    if (offset > bytes_.size() || bytes_.size() - offset < count) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8 | bytes_[offset + (big_ ? i : count - 1 - i)];
    return value;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  bool big_;
};

}  // namespace

int exif_orientation(std::span<const std::uint8_t> exif) {
  constexpr std::uint32_t kTiff = 42, kOrientation = 0x0112, kShort = 3;
  constexpr std::size_t kEntryBytes = 12;
  const TiffNumbers numbers(exif);
  if (exif.size() < 8 || exif[0] != exif[1] || (exif[0] != 'I' && exif[0] != 'M') || numbers.at(2, 2) != kTiff)
    return 1;
  const std::size_t directory = numbers.at(4, 4);
  const std::uint32_t entries = numbers.at(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + kEntryBytes * i;
    if (entry >= exif.size()) break;
    if (numbers.at(entry, 2) != kOrientation || numbers.at(entry + 2, 2) != kShort) continue;
    const std::uint32_t found = numbers.at(entry + 8, 2);
    return found >= 1 && found <= 8 ? static_cast<int>(found) : 1;
  }
  return 1;
}

Picture upright(Picture picture, int orientation) {
  if (orientation == 1) return picture;
  // Begin and direction of rows and columns of the stored picture. Orientations 5 to 8 exchange the two.
  const bool exchanged = orientation >= 5;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  Picture result{exchanged ? picture.width : picture.height, exchanged ? picture.height : picture.width,
                 picture.channels};
  result.bytes.resize(picture.bytes.size());
  std::uint8_t* to = result.bytes.data();
  for (std::int64_t row = 0; row < result.height; ++row)
    for (std::int64_t column = 0; column < result.width; ++column) {
      std::int64_t stored_row = exchanged ? column : row, stored_column = exchanged ? row : column;
      if (exchanged ? from_right : from_bottom) stored_row = picture.height - 1 - stored_row;
      if (exchanged ? from_bottom : from_right) stored_column = picture.width - 1 - stored_column;
      const std::int64_t from = (stored_row * picture.width + stored_column) * picture.channels;
      to = std::copy_n(picture.bytes.begin() + from, picture.channels, to);
    }
  return result;
}

}  // namespace npzoo
