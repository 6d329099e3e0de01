#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/config.h"

namespace npzoo {

enum class Device : std::uint8_t { cpu, cuda };

enum class DType : std::uint8_t { float32, float64, int64 };

std::size_t size_of(DType dtype);
std::string_view to_string(DType dtype);
std::string_view to_string(Device device);

/// Where tensors of floating-point numbers are made that nobody said another place for. The CPU at first.
Device default_device();
void set_default_device(Device device);
/// Makes the one called "cpu", "cuda", "auto" (CUDA where there is a device) or "emulated" (CUDA's kernels on the CPU,
/// see Gpu) the default and returns it. Throws Error where this build or machine lacks it.
Device select_device(std::string_view name);

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
