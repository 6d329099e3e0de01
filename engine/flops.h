#pragma once

#include <cstdint>

namespace npzoo {

/// Adds to this thread's count of floating-point operations. Operations made of matrix products report them here, a
/// multiplication and an addition counting as two; element-wise work is not counted.
void count_flops(std::int64_t flops);

/// What this thread has counted since it started.
std::int64_t counted_flops();

}  // namespace npzoo
