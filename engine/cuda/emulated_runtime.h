#pragma once

#include <functional>

#include "npzoo/engine/cuda/gpu.h"

namespace npzoo {

std::unique_ptr<GpuRuntime> make_emulated_runtime();

namespace emulator {

/// Does the work, or notes it down while a graph is captured.
void submit(std::function<void()> work);

}  // namespace emulator

}  // namespace npzoo
