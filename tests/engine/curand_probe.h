#pragma once

#include <cstdint>

#include "npzoo/engine/random.h"

namespace npzoo {

/// Draws random words as kernels on NVIDIA devices do, by cuRAND's code, on the host.
void curand_words(const RandomState& state, std::uint32_t (&words)[4]);

}  // namespace npzoo
