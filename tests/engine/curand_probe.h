#pragma once

#include <cstdint>

#include "npzoo/engine/random.h"

namespace npzoo {

/// What kernels on NVIDIA devices draw, by cuRAND's code, run on the host.
void curand_words(const RandomState& state, std::uint32_t (&words)[4]);

}  // namespace npzoo
