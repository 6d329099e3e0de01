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

/// A file that was not read because it is larger than kMostPictureBytes.
PictureFile too_large_picture(const std::string& name);

/// Reads the `wanted` files of a zip or tar archive, which may be compressed by gzip or xz, in its order. Throws Error
/// for a damaged archive, and in a build without the feature `archive`.
void for_each_archived(const std::filesystem::path& path, const std::function<bool(const std::string&)>& wanted,
                       const std::function<void(PictureFile)>& use);

}  // namespace npzoo
