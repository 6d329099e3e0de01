#pragma once

#include "npzoo/engine/gemm.h"
#include "npzoo/engine/kernel.h"

namespace npzoo {

NPZOO_CPU_KERNEL(batched_gemm, BatchedGemm);

}  // namespace npzoo
