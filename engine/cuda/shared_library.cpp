#include "npzoo/engine/cuda/shared_library.h"

#include <dlfcn.h>

#include "npzoo/engine/error.h"

namespace npzoo {

SharedLibrary::SharedLibrary(const std::string& name, const std::string& folder) : name_(name) {
  handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_) return;
  const std::string why = ::dlerror();
  handle_ = ::dlopen((folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) fail("[library] {} cannot be loaded: {}; {}", name, why, ::dlerror());
}

void* SharedLibrary::symbol(const char* name) const {
  void* const found = ::dlsym(handle_, name);
  check(found != nullptr, "[library] {} has no function {}", name_, name);
  return found;
}

}  // namespace npzoo
