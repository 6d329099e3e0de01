#include "engine/cuda/gpu.h"

#include "engine/config.h"
#include "engine/cuda/emulated_runtime.h"
#include "engine/cuda/nvidia_runtime.h"
#include "engine/error.h"

namespace npzoo {

namespace {

Gpu selected = kHasCuda ? Gpu::nvidia : Gpu::emulated;
bool unified = false;

std::unique_ptr<GpuRuntime> make_runtime() {
  if constexpr (kHasCuda)
    if (selected == Gpu::nvidia) return make_nvidia_runtime();
  if constexpr (kHasEmulator)
    if (selected == Gpu::emulated) return make_emulated_runtime();
  fail("[device] {}", why_no_gpu());
}

}  // namespace

std::string_view to_string(Gpu gpu) { return gpu == Gpu::nvidia ? "nvidia" : "emulated"; }

Gpu active_gpu() { return selected; }

void select_gpu(Gpu gpu) {
  if (gpu == Gpu::nvidia)
    check(!list_gpus().empty(), "[device] {}", why_no_gpu());
  else
    check(kHasEmulator, "[device] this build of npzoo has no emulated device");
  selected = gpu;
}

std::vector<GpuInfo> list_gpus() {
  if constexpr (kHasCuda) return list_nvidia_gpus();
  return {};
}

std::string why_no_gpu() {
  if constexpr (kHasCuda) return why_no_nvidia_gpu();
  return "this build of npzoo has no CUDA support";
}

GpuRuntime& gpu_runtime() {
  // Never destroyed: tensors of static objects may be released after any other static object.
  static GpuRuntime* const runtime = make_runtime().release();
  return *runtime;
}

void use_unified_memory() { unified = true; }

bool unified_memory() { return unified; }

}  // namespace npzoo
