#include "npzoo/engine/io/own_file.h"

#include <dlfcn.h>
#if __has_include(<link.h>)
#include <link.h>
#endif

#include <string>

namespace npzoo {

std::filesystem::path own_file() {
#if defined(__EMSCRIPTEN__)  // a page has no file of its own
  return {};
#else
  Dl_info info{};
  const auto* here = reinterpret_cast<const void*>(&own_file);
#if defined(RTLD_DL_LINKMAP)  // of glibc
  link_map* object = nullptr;
  if (!::dladdr1(here, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) || object == nullptr) return {};
  const std::string file = object->l_name;  // empty for the program itself
#else
  if (!::dladdr(here, &info) || info.dli_fname == nullptr) return {};
  const std::string file = info.dli_fname;
#endif
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(file.empty() ? "/proc/self/exe" : file, error);
  return error ? std::filesystem::path() : path;
#endif
}

}  // namespace npzoo
