#pragma once

#include <functional>

#include "npzoo/engine/cuda/gpu.h"

namespace npzoo {

std::unique_ptr<GpuRuntime> make_emulated_runtime();

namespace emulator {

/// Does the work of a kernel, or notes it down while a graph is captured.
void submit(std::function<void()> work);
/// Returns how many kernels were done or noted down since the process began. Launches of graphs do not count.
std::int64_t submitted_kernels();

}  // namespace emulator

}  // namespace npzoo
