#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "npzoo/engine/config.h"

namespace npzoo {

enum class Device : std::uint8_t { cpu, cuda };

enum class DType : std::uint8_t { float32, float64, int64 };

/// Returns the bytes of one element. Throws Error for a value that is not a DType.
std::size_t size_of(DType dtype);
std::string_view to_string(DType dtype);
std::string_view to_string(Device device);

/// Returns the default device of floating-point tensors: the device of the calling thread's innermost DeviceScope, else
/// the one that the process selected, at first the CPU.
Device default_device();
/// Selects the device of the process: "cpu", "cuda" (device 0), "cuda:INDEX", "auto" ("cuda" if there is a device, else
/// "cpu") or "emulated" (CUDA's kernels on the CPU, see Gpu). Returns default_device(). A process can select the CPU
/// and one GPU in any order and from any thread. Throws Error, and changes nothing, if this build or machine lacks the
/// device, or if the process has started another GPU already.
Device select_device(std::string_view name);

/// While alive, `device` is the default device of the calling thread and of the workers that help with its loops.
class DeviceScope {
 public:
  explicit DeviceScope(Device device);
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope();

 private:
  std::optional<Device> outer_;
};

template <class T>
constexpr DType dtype_of() = delete;
template <>
constexpr DType dtype_of<float>() {
  return DType::float32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::float64;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::int64;
}

}  // namespace npzoo
