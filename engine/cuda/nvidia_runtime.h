#pragma once

#include "engine/cuda/gpu.h"

namespace npzoo {

/// Throws Error where there is no device.
std::unique_ptr<GpuRuntime> make_nvidia_runtime();

std::vector<GpuInfo> list_nvidia_gpus();
std::string why_no_nvidia_gpu();

}  // namespace npzoo
