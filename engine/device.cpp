#include "engine/device.h"

#include "engine/cuda/gpu.h"
#include "engine/error.h"

namespace npzoo {

std::size_t size_of(DType dtype) { return dtype == DType::float32 ? 4 : 8; }

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::float32: return "float32";
    case DType::float64: return "float64";
    case DType::int64: return "int64";
  }
  return "unknown";
}

std::string_view to_string(Device device) { return device == Device::cpu ? "cpu" : "cuda"; }

namespace {

Device current_default = Device::cpu;

}  // namespace

Device default_device() { return current_default; }

void set_default_device(Device device) { current_default = device; }

Device select_device(std::string_view name) {
  check(name == "cpu" || name == "cuda" || name == "auto" || name == "emulated",
        "[device] '{}' is not a device; expected cpu, cuda, auto or emulated", name);
  if (name == "emulated") select_gpu(Gpu::emulated);
  if (name == "cuda") select_gpu(Gpu::nvidia);
  const bool gpu = name == "cuda" || name == "emulated" || (name == "auto" && !list_gpus().empty());
  current_default = gpu ? Device::cuda : Device::cpu;
  if (gpu) static_cast<void>(gpu_runtime());
  return current_default;
}

}  // namespace npzoo
