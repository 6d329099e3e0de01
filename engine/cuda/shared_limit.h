#pragma once

#include <cstddef>

#include "npzoo/engine/error.h"

namespace npzoo {

/// Throws Error if blocks of a kernel need more shared memory than the device's `most`.
inline void check_shared_memory(const char* where, const char* kernel, std::size_t bytes, int most) {
  check(bytes <= static_cast<std::size_t>(most),
        "[{}] kernel {}: {} bytes of shared memory found, expected at most {}, the limit of this device", where, kernel,
        bytes, most);
}

}  // namespace npzoo
