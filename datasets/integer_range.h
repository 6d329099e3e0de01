#pragma once

#include <cstdint>

#include "npzoo/engine/random.h"

namespace npzoo {

/// Integers in [low, high).
struct IntegerRange {
  std::int64_t low = 0;
  std::int64_t high = 1;

  std::int64_t draw(Random& random) const { return random.integer(low, high); }
  bool operator==(const IntegerRange&) const = default;
};

}  // namespace npzoo
