#pragma once

#include <Random123/philox.h>

#include "engine/cuda/device_function.h"
#include "engine/random.h"

namespace npzoo {

/// The words of `philox(state)`, for kernels of a GPU.
NPZOO_DEVICE inline void philox_words(const RandomState& state, std::uint32_t (&words)[4]) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const r123::Philox4x32::ctr_type counter{
      {low(state.offset), high(state.offset), low(state.stream), high(state.stream)}};
  const r123::Philox4x32::key_type key{{low(state.seed), high(state.seed)}};
  const auto block = r123::Philox4x32{}(counter, key);
  for (int i = 0; i < 4; ++i) words[i] = block[i];
}

}  // namespace npzoo
