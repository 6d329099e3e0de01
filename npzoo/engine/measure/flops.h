#pragma once

#include <cstdint>

namespace npzoo {

/// Counts floating-point operations. Matrix products and Fourier transforms report them here, a multiplication and an
/// addition counting as two; element-wise work is not counted.
void count_flops(std::int64_t flops);

/// What all threads have counted since the program started.
std::int64_t counted_flops();
/// What this thread has counted.
std::int64_t counted_flops_here();

}  // namespace npzoo
