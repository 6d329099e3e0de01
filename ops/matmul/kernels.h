#pragma once

#include "engine/gemm.h"
#include "engine/kernel.h"

namespace npzoo {

NPZOO_CPU_KERNEL(batched_gemm, BatchedGemm);

}  // namespace npzoo
