// xxHash has no package for WebAssembly: this is its only translation unit there.
#define XXH_STATIC_LINKING_ONLY
#define XXH_IMPLEMENTATION
#include <xxhash.h>
