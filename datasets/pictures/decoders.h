#pragma once

#include "npzoo/datasets/pictures/picture.h"

namespace npzoo {

/// A picture as its file stores it.
struct StoredPicture {
  Picture picture;
  int orientation = 1;  // 1 to 8, as Exif counts
};

/// Grey or RGB; what is transparent lies on white. Throws Error that begins with `name`.
StoredPicture decode_png(std::span<const std::uint8_t> file, const std::string& name);
StoredPicture decode_jpeg(std::span<const std::uint8_t> file, const std::string& name);

/// Throws Error if a picture of this size is none, or too large.
void check_picture_size(std::int64_t width, std::int64_t height, const std::string& name);

/// The orientation that Exif data state; 1, as it is stored, where they state none or are damaged. `exif` begins with
/// the byte order of TIFF.
int exif_orientation(std::span<const std::uint8_t> exif);

/// The picture turned and mirrored as the orientation says.
Picture upright(Picture picture, int orientation);

}  // namespace npzoo
