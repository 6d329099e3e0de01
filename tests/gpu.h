#pragma once

#include <doctest/doctest.h>

#include "npzoo/engine/config.h"
#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/device.h"

namespace npzoo::testing {

/// Whether this machine has a CUDA device for tests, a real one or else an emulated one; says so where it has none.
inline bool has_gpu() {
  if (default_device() == Device::cuda || !list_gpus().empty()) return true;
  if (kHasEmulator) select_gpu(Gpu::emulated);
  if (!kHasEmulator) MESSAGE("skipped: no CUDA device, and no emulated one in this build");
  return kHasEmulator;
}

/// Whether the tests run on the emulated device, where a kernel takes about a thousand times as long.
inline bool on_emulated_gpu() { return default_device() == Device::cuda && active_gpu() == Gpu::emulated; }

inline bool on_hardware_gpu() { return default_device() == Device::cuda && active_gpu() != Gpu::emulated; }

/// While it lives, tensors are made on the CUDA device.
struct OnGpu {
  DeviceScope scope{Device::cuda};
};

}  // namespace npzoo::testing
