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
/// Parses "cpu", "cuda" or "auto" (CUDA where there is a device). Throws Error where this build or machine lacks it.
Device parse_device(std::string_view name);

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
