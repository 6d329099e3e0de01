#pragma once

#include <cstddef>
#include <limits>

#include "npzoo/engine/error.h"
#include "npzoo/engine/memory.h"

namespace npzoo {

/// Returns a · b, the length of an array. Throws OutOfMemory if no size has that value: sizes have 32 bits in
/// WebAssembly, and a wrapped product would make a shorter array than its users expect.
inline std::size_t checked_product(std::size_t a, std::size_t b) {
  if (b != 0 && a > std::numeric_limits<std::size_t>::max() / b) [[unlikely]]
    throw OutOfMemory(fmt::format("[memory] {} times {} numbers are more than memory can hold", a, b));
  return a * b;
}

}  // namespace npzoo
