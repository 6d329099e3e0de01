#pragma once

#include "engine/gemm.h"

namespace npzoo {

template <class T, Isa isa>
void batched_gemm(CpuContext<isa>& cpu, const BatchedGemm<T>& p);

}  // namespace npzoo
