#include "datasets/images/set_files.h"

#include "datasets/data_folder.h"
#include "engine/error.h"

namespace npzoo {

std::filesystem::path set_file(const KnownImageSet& set, std::initializer_list<std::string> names) {
  const std::filesystem::path folder = data_folder();
  const std::string& first = *names.begin();
  check(!folder.empty(), "[images] {} is wanted, but neither --data nor NPZOO_DATA names a folder; {}", first,
        set.obtained);
  for (const std::string& name : names)
    for (const char* ending : {"", ".gz", ".xz"}) {
      const std::filesystem::path path = folder / (name + ending);
      std::error_code unknown;
      if (std::filesystem::exists(path, unknown)) return path;
    }
  fail("[images] {} has no {}, nor with .gz or .xz; {}", folder.string(), first, set.obtained);
}

}  // namespace npzoo
