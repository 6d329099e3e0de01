#include "npzoo/datasets/data_folder.h"

#include <cstdlib>
#include <mutex>
#include <utility>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

struct ChosenFolder {
  std::mutex mutex;
  std::filesystem::path path;
};

ChosenFolder& chosen() {
  static auto* const folder = new ChosenFolder;
  return *folder;
}

}  // namespace

void set_data_folder(std::filesystem::path folder) {
  const std::lock_guard lock(chosen().mutex);
  chosen().path = std::move(folder);
}

std::filesystem::path data_folder() {
  const std::lock_guard lock(chosen().mutex);
  if (!chosen().path.empty()) return chosen().path;
  const char* named = std::getenv("NPZOO_DATA");
  return named ? named : "";
}

std::filesystem::path data_file(std::string_view where, std::initializer_list<std::string> names,
                                std::string_view obtained) {
  const std::filesystem::path folder = data_folder();
  const std::string& first = *names.begin();
  check(!folder.empty(), "[{}] {}: no folder of data found, expected --data or NPZOO_DATA; {}", where, first, obtained);
  for (const std::string& name : names)
    for (const char* ending : {"", ".gz", ".xz"}) {
      const std::filesystem::path path = folder / (name + ending);
      std::error_code unknown;
      if (std::filesystem::exists(path, unknown)) return path;
    }
  fail("[{}] {} has no file {}, also none with .gz or .xz; {}", where, folder.string(), first, obtained);
}

}  // namespace npzoo
