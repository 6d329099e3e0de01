#include "engine/device.h"

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

Device parse_device(std::string_view name) {
  if (name == "cpu" || name == "auto") return Device::cpu;
  check(name == "cuda", "[device] '{}' is not a device; expected cpu, cuda or auto", name);
  fail("[device] this build of npzoo has no CUDA support");
}

}  // namespace npzoo
