#include "tools/plot/cairo.h"

#include <dlfcn.h>

#include "npzoo/engine/error.h"

namespace npzoo::tools::plot {

namespace {

constexpr char kLibrary[] = "libcairo.so.2";

Cairo load_cairo() {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  check(library != nullptr, "[plot] {} cannot be loaded, expected cairo 1.16 or newer (Debian: libcairo2); in Python, use .plot() instead",
        kLibrary);
  Cairo functions;
#define NPZOO_LOAD(name)                                                                         \
  functions.name = reinterpret_cast<decltype(functions.name)>(::dlsym(library, "cairo_" #name)); \
  check(functions.name != nullptr, "[plot] {} has no function cairo_" #name ", expected cairo 1.16 or newer", kLibrary);
  NPZOO_CAIRO_FUNCTIONS(NPZOO_LOAD)
#undef NPZOO_LOAD
  return functions;
}

}  // namespace

const Cairo& cairo() {
  static const Cairo functions = load_cairo();
  return functions;
}

}  // namespace npzoo::tools::plot
