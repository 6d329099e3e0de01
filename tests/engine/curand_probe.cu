#include "tests/engine/curand_probe.h"

#include "npzoo/engine/philox.h"

namespace npzoo {

void curand_words(const RandomState& state, std::uint32_t (&words)[4]) { philox_words(state, words); }

}  // namespace npzoo
