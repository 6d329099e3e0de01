#include "npzoo/datasets/pictures/archive.h"
#include "npzoo/engine/error.h"

namespace npzoo {

void for_each_archived(const std::filesystem::path& path, const std::function<bool(const std::string&)>&,
                       const std::function<void(PictureFile)>&) {
  fail(
      "[images] {}: is a file, and this build of npzoo cannot read archives: unpack it into a folder, or build npzoo "
      "with -Darchive=enabled, which needs libarchive",
      path.string());
}

}  // namespace npzoo
