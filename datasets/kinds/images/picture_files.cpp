#include "npzoo/datasets/kinds/images/picture_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <system_error>

#include "npzoo/datasets/pictures/archive.h"
#include "npzoo/datasets/pictures/picture.h"
#include "npzoo/datasets/pictures/whole_bytes.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

namespace fs = std::filesystem;

bool is_picture_name(const std::string& name) {
  std::string ending = fs::path(name).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

void walk_folder(const fs::path& folder, const std::function<bool(const std::string&)>& wanted,
                 const std::function<void(PictureFile)>& use) {
  std::vector<std::string> names;
  try {
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (is_picture_name(entry.path().string()) && entry.is_regular_file())
        names.push_back(entry.path().lexically_relative(folder).generic_string());
  } catch (const fs::filesystem_error& error) {
    fail("[images] {}: cannot be read: {}", error.path1().string(), error.code().message());
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    if (!wanted(name)) continue;
    ByteStream file(folder / name);
    PictureFile picture{file.name(), next_bytes(file, kMostPictureBytes + 1)};
    if (std::ssize(picture.bytes) > kMostPictureBytes) picture = too_large_picture(picture.name);
    use(std::move(picture));
  }
}

}  // namespace

PictureFile too_large_picture(const std::string& name) {
  return {name, {}, fmt::format("[images] {}: has more than {} bytes, expected a picture", name, kMostPictureBytes)};
}

void for_each_picture_file(const fs::path& path, const std::function<bool(const std::string&)>& wanted,
                           const std::function<void(PictureFile)>& use) {
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) return walk_folder(path, wanted, use);
  std::error_code error;
  static_cast<void>(fs::file_size(path, error));
  check(!error, "[images] {}: cannot be read: {}", path.string(), error.message());
  for_each_archived(
      path, [&](const std::string& name) { return is_picture_name(name) && wanted(name); }, use);
}

}  // namespace npzoo
