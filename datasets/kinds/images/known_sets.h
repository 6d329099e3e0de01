#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "npzoo/datasets/kinds/images/image_set.h"

namespace npzoo {

/// Which part of a picture becomes an image: all of it, whatever its shape, its largest centred part of the image's
/// shape, or the 148 x 148 pixels of an aligned CelebA picture that show the face.
enum class Crop : std::uint8_t { none, centre, face };

/// Size and crop of images.
struct ImageChoice {
  std::int64_t height = 0, width = 0;
  Crop crop = Crop::none;
};

/// Parts of a published set. A set without a validation part may keep back a tenth of the training part.
enum class ImagePart : std::uint8_t { training, validation, test, all_but_test };

/// A set of images that has been published, in the form that its makers chose.
struct KnownImageSet {
  std::string_view name;               // in protocols
  std::int64_t height = 0, width = 0;  // 0: of any size that a protocol says
  std::int64_t channels = 1;
  std::int64_t classes = 0;  // that images have labels of; 0: none
  bool has_validation = false, has_faces = false;
  /// Reads a part of it. Throws Error if it is not at hand, saying where it can be had, and for what is damaged.
  ImageSet (*read)(const KnownImageSet& set, const ImageChoice& choice, ImagePart part) = nullptr;
  std::string_view obtained;  // where it can be had
};

std::span<const KnownImageSet> known_image_sets();

}  // namespace npzoo
