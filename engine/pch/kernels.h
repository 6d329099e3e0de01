// Precompiled for kernels, once for each instruction set with its own flags. Includes nothing that other code is built
// of: what is inline here is compiled for one kind of processor.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif
