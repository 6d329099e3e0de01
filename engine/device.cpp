#include "npzoo/engine/device.h"

#include <atomic>
#include <utility>

#include "npzoo/engine/call_scopes.h"
#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/cuda/gpu_selection.h"
#include "npzoo/engine/error.h"

namespace npzoo {

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return sizeof(float);
    case DType::float64: return sizeof(double);
    case DType::int64: return sizeof(std::int64_t);
  }
  fail("[dtype] {} found, expected float32, float64 or int64", static_cast<int>(dtype));
}

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

std::atomic<Device> selected{Device::cpu};

}  // namespace

Device default_device() { return call_scopes.device.value_or(selected.load(std::memory_order_relaxed)); }

DeviceScope::DeviceScope(Device device) : outer_(std::exchange(call_scopes.device, device)) {}
DeviceScope::~DeviceScope() { call_scopes.device = outer_; }

Device select_device(std::string_view name) {
  using Kind = DeviceName::Kind;
  DeviceName wanted = parse_device(name);
  if (wanted.kind == Kind::automatic) wanted.kind = list_gpus().empty() ? Kind::cpu : Kind::cuda;
  const bool gpu = wanted.kind != Kind::cpu;
  if (gpu) {
    select_gpu(wanted.kind == Kind::emulated ? Gpu::emulated : Gpu::nvidia, wanted.index);
    static_cast<void>(gpu_runtime());
  }
  selected.store(gpu ? Device::cuda : Device::cpu, std::memory_order_relaxed);
  return default_device();
}

}  // namespace npzoo
