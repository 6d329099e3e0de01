#include "npzoo/engine/io/own_file.h"

#include <dlfcn.h>
#if defined(__GLIBC__)
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
#if defined(__GLIBC__)
  link_map* object = nullptr;
  if (!::dladdr1(here, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) || object == nullptr) return {};
  const std::string file = object->l_name;  // empty for the program itself
#else
  // The name of the program is its first argument, which may be no path: the program itself is looked up below.
  if (!::dladdr(here, &info) || info.dli_fname == nullptr) return {};
  const std::string name = info.dli_fname, file = name.find('/') == std::string::npos ? "" : name;
#endif
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(file.empty() ? "/proc/self/exe" : file, error);
  return error ? std::filesystem::path() : path;
#endif
}

}  // namespace npzoo
