#pragma once

#include <cstdint>

namespace npzoo {

/// The largest whole number not above a / b.
inline std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace npzoo
