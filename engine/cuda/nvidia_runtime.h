#pragma once

#include "npzoo/engine/cuda/gpu.h"

namespace npzoo {

/// Starts device `index`. Throws Error if there is no such device.
std::unique_ptr<GpuRuntime> make_nvidia_runtime(int index);

std::vector<GpuInfo> list_nvidia_gpus();
std::string why_no_nvidia_gpu();

}  // namespace npzoo
