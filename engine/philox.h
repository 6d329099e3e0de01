#pragma once

#include "npzoo/engine/cuda/device_function.h"
#include "npzoo/engine/random.h"

#ifdef __CUDACC__
#define QUALIFIERS static __forceinline__ __host__ __device__  // cuRAND's is for the device alone
#include <curand_philox4x32_x.h>
#else
#include <Random123/philox.h>
#endif

namespace npzoo {

/// The words of `philox(state)`: from cuRAND in sources that nvcc compiles, from Random123 elsewhere. Each source has
/// its own copy, since one function must not have two definitions.
NPZOO_DEVICE static inline void philox_words(const RandomState& state, std::uint32_t (&words)[4]) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
#ifdef __CUDACC__
  const uint4 block =
      curand_Philox4x32_10({low(state.offset), high(state.offset), low(state.stream), high(state.stream)},
                           {low(state.seed), high(state.seed)});
  words[0] = block.x, words[1] = block.y, words[2] = block.z, words[3] = block.w;
#else
  const auto block =
      r123::Philox4x32{}({{low(state.offset), high(state.offset), low(state.stream), high(state.stream)}},
                         {{low(state.seed), high(state.seed)}});
  for (int i = 0; i < 4; ++i) words[i] = block[i];
#endif
}

}  // namespace npzoo
