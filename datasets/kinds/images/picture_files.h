#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace npzoo {

/// A file of a folder or of an archive, as it is stored.
struct PictureFile {
  std::string name;  // for messages: the folder's or the archive's, and the file's own
  std::vector<std::uint8_t> bytes;
  std::string fault{};  // why it was not read, as an error message; empty for a file that was
};

/// Walks through the PNG and JPEG files, told by the endings of their names, of a folder with all that is in it, sorted
/// by name, or of a zip archive or a tar archive, which gzip or xz may have made smaller, in its order. Those are read
/// whose path below the folder, or in the archive, is `wanted`. A file of more than kMostPictureBytes is not read and
/// has a fault. Throws Error for a file that cannot be read and for an archive that is damaged or cut off.
void for_each_picture_file(const std::filesystem::path& path, const std::function<bool(const std::string&)>& wanted,
                           const std::function<void(PictureFile)>& use);

}  // namespace npzoo
