#include "datasets/images/set_files.h"

#include "datasets/data_folder.h"
#include "engine/error.h"

namespace npzoo {

std::filesystem::path set_file(const KnownImageSet& set, const std::string& name) {
  const std::filesystem::path folder = data_folder();
  check(!folder.empty(),
        "[images] {} is wanted, but neither --data nor NPZOO_DATA names a folder with it; it can be had from {}", name,
        set.obtained);
  for (const char* ending : {"", ".gz", ".xz"}) {
    const std::filesystem::path path = folder / (name + ending);
    std::error_code unknown;
    if (std::filesystem::exists(path, unknown)) return path;
  }
  fail("[images] {} has no {}, nor with .gz or .xz; it can be had from {}", folder.string(), name, set.obtained);
}

}  // namespace npzoo
