#include "datasets/data_folder.h"

#include <cstdlib>

namespace npzoo {

namespace {

std::filesystem::path& chosen_folder() {
  static std::filesystem::path folder;
  return folder;
}

}  // namespace

void set_data_folder(std::filesystem::path folder) { chosen_folder() = std::move(folder); }

std::filesystem::path data_folder() {
  if (!chosen_folder().empty()) return chosen_folder();
  const char* named = std::getenv("NPZOO_DATA");
  return named ? named : "";
}

}  // namespace npzoo
