#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// PNG and JPEG files that tests make themselves.

namespace npzoo::testing {

using Bytes = std::vector<std::uint8_t>;

/// A value of channel c at a row and a column, 0 to 255; 16-bit files have 257 times as much.
using Pattern = std::function<int(std::int64_t row, std::int64_t column, int channel)>;

struct PngForm {
  int width = 9, height = 7;
  int channels = 3;  // 1 grey, 2 grey and alpha, 3 colours, 4 colours and alpha
  int depth = 8;     // 1, 2, 4 of grey or a palette alone; 16
  bool palette = false, interlaced = false;
  int orientation = 0;        // by Exif; 0: says nothing
  int transparent_grey = -1;  // that has no alpha otherwise
};
/// With a palette, values are indices: colour i is (i, 255 − i, i / 2).
Bytes png_file(const PngForm& form, const Pattern& pattern);

struct JpegForm {
  int width = 16, height = 8;
  int channels = 3;  // 1 grey, 3 colours, 4 inks, as Adobe's programs store them
  bool progressive = false;
  int quality = 100;
  int orientation = 0;
  bool big_endian = false;  // Exif's numbers
};
Bytes jpeg_file(const JpegForm& form, const Pattern& pattern);

/// A tar archive.
std::string tar_of(const std::vector<std::pair<std::string, Bytes>>& files);
/// A zip archive, deflated.
std::string zip_of(const std::vector<std::pair<std::string, Bytes>>& files);

}  // namespace npzoo::testing
