#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/kinds/images/image_set.h"
#include "npzoo/datasets/kinds/images/known_sets.h"

namespace npzoo {

/// `[data] set = "folder"`: a user's own pictures.
struct ImageFolder {
  std::string path;  // absolute; a folder, or a tar or zip archive, of PNG and JPEG files
  ImageChoice choice;
  std::int64_t channels = 3;
  bool skip_damaged = false;  // files that cannot be decoded are left out
};

/// What is in it.
struct FolderImages {
  ImageSet set;
  std::string checksum;              // of the files' names and bytes: other ones are other images
  std::vector<std::string> skipped;  // messages, one for each file that was left out
};

/// Reads it. The last one that was read is kept, so that who describes a folder and then trains on it reads it once.
/// Throws Error for a damaged file unless those are skipped, and where no image is left, or one alone.
std::shared_ptr<const FolderImages> read_image_folder(const ImageFolder& folder);

/// The text of a protocol of these images, with the presets of `base`, a complete text. `name` becomes its name.
/// Training and validation are those of `base` or, where `short_recipe` is asked for, such as suit thousands of images.
std::string image_protocol(const ImageFolder& folder, std::string_view base, const std::string& name,
                           bool short_recipe);

}  // namespace npzoo
