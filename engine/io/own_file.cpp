#include "npzoo/engine/io/own_file.h"

#include <dlfcn.h>
#include <link.h>

#include <string>

namespace npzoo {

std::filesystem::path own_file() {
  Dl_info info{};
  link_map* object = nullptr;
  const auto* here = reinterpret_cast<const void*>(&own_file);
  if (!::dladdr1(here, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) || object == nullptr) return {};
  const std::string file = object->l_name;  // empty for the program itself
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(file.empty() ? "/proc/self/exe" : file, error);
  return error ? std::filesystem::path() : path;
}

}  // namespace npzoo
