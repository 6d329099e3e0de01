#pragma once

#include <cstdint>

namespace npzoo {

/// Counts floating-point operations. Matrix products and Fourier transforms report them here, a multiplication and an
/// addition counting as two; element-wise work is not counted.
void count_flops(std::int64_t flops);

/// Returns the count of all threads since the program started.
std::int64_t counted_flops();
/// Returns the count of this thread.
std::int64_t counted_flops_here();

}  // namespace npzoo
