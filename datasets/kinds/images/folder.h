#pragma once

#include <memory>
#include <string>
#include <vector>

#include "npzoo/datasets/kinds/images/image_set.h"
#include "npzoo/datasets/kinds/images/known_sets.h"
#include "npzoo/datasets/own_data.h"

namespace npzoo {

/// `[data] set = "folder"`: a user's own pictures.
struct ImageFolder {
  std::string path;  // absolute; a folder, or a tar or zip archive, of PNG and JPEG files; empty: still to be named
  ImageChoice choice;
  std::int64_t channels = 3;
  bool skip_damaged = false;  // files that cannot be decoded are left out
};

/// The images of a folder.
struct FolderImages {
  ImageSet set;
  std::string checksum;              // of the files' names and bytes: other ones are other images
  std::vector<std::string> skipped;  // messages, one for each file that was left out
};

/// Reads it. The last one that was read is kept, so that describing a folder and then training on it reads it once.
/// Throws Error for a damaged file unless those are skipped, and where no image is left, or one alone.
std::shared_ptr<const FolderImages> read_image_folder(const ImageFolder& folder);

/// Describes tasks on a user's own pictures, which it reads. Throws Error as read_image_folder does.
OwnTasks on_own_pictures(const OwnPictures& own);

}  // namespace npzoo
