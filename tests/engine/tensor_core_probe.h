#pragma once

#include <cstdint>

#include "npzoo/engine/cuda/context.h"

namespace npzoo {

/// Results of npzoo/engine/cuda/tensor_core_matrices.h for small matrices: see tensor_core_test.cpp.
struct TensorCoreProbe {
  enum class Format : std::uint8_t { tf32, bf16, tf32_pairs };

  Format format;
  const float* a;   // (16, 16)
  const float* b;   // (16, 16)
  const float* c;   // (16, 16)
  float* product;   // a bᵀ
  float* chained;   // (a bᵀ) c
  float* turned;    // (a bᵀ) cᵀ
  float* straight;  // a c
  float* crossed;   // aᵀ c
  float* stored;    // a bᵀ, rounded
  const float* x;   // 64 numbers
  float* rounded;
  float* finite;  // the rounded ones, 0 for those that are not finite
};

void probe_tensor_cores(CudaContext<Gpu::nvidia>& cuda, const TensorCoreProbe& p);
void probe_tensor_cores(CudaContext<Gpu::emulated>& cuda, const TensorCoreProbe& p);

}  // namespace npzoo
