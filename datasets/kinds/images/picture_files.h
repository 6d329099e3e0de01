#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "npzoo/datasets/pictures/archive.h"

namespace npzoo {

/// Walks through the PNG and JPEG files, told by the endings of their names, of a folder with all that is in it, sorted
/// by name, or of a zip archive or a tar archive, which gzip or xz may have made smaller, in its order. Those are read
/// whose path below the folder, or in the archive, is `wanted`. A file of more than kMostPictureBytes is not read and
/// has a fault. Throws Error for a file that cannot be read and for an archive that is damaged or cut off.
void for_each_picture_file(const std::filesystem::path& path, const std::function<bool(const std::string&)>& wanted,
                           const std::function<void(PictureFile)>& use);

}  // namespace npzoo
