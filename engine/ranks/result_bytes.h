#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "npzoo/engine/error.h"
#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Writes results as bytes, for other ranks that run the same program. Takes numbers, enums, strings, tensors on the
/// host, vectors and optionals of these, and classes with a member `static void fields(auto& bytes, auto& self)` that
/// hands all its members to `bytes`.
class ResultWriter {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (write(values), ...);
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  template <class T>
  static constexpr bool is_plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

  void append(const void* from, std::size_t count) {
    const auto* const first = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), first, first + count);
  }
  template <class T>
  void write(const T& value) {
    if constexpr (is_plain<T>)
      append(&value, sizeof(T));
    else
      T::fields(*this, value);
  }
  void write(const std::string& text) {
    write(text.size());
    append(text.data(), text.size());
  }
  template <class T>
  void write(const std::vector<T>& values) {
    write(values.size());
    if constexpr (is_plain<T>)
      append(values.data(), values.size() * sizeof(T));
    else
      for (const T& value : values) write(value);
  }
  template <class T>
  void write(const std::optional<T>& value) {
    write(value.has_value());
    if (value) write(*value);
  }
  void write(const Tensor& tensor) {
    write(tensor.defined());
    if (!tensor.defined()) return;
    write(tensor.dtype());
    write(std::vector<std::int64_t>(tensor.shape().begin(), tensor.shape().end()));
    append(tensor.raw().data(), tensor.bytes());
  }

  std::vector<std::byte> bytes_;
};

/// Reads what a ResultWriter wrote, in the same order. Throws Error if the bytes end early.
class ResultReader {
 public:
  explicit ResultReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class... T>
  void operator()(T&... values) {
    (read(values), ...);
  }

 private:
  template <class T>
  static constexpr bool is_plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

  void take(void* to, std::size_t count) {
    check(count <= bytes_.size(), "[ranks] a result of {} bytes found, expected {} more", bytes_.size(), count);
    if (count > 0) std::memcpy(to, bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
  }
  std::size_t length() {
    std::size_t count = 0;
    read(count);
    check(count <= bytes_.size(), "[ranks] a result of {} bytes found, expected {} more", bytes_.size(), count);
    return count;
  }
  template <class T>
  void read(T& value) {
    if constexpr (is_plain<T>)
      take(&value, sizeof(T));
    else
      T::fields(*this, value);
  }
  void read(std::string& text) {
    text.resize(length());
    take(text.data(), text.size());
  }
  template <class T>
  void read(std::vector<T>& values) {
    values.resize(length());
    if constexpr (is_plain<T>)
      take(values.data(), values.size() * sizeof(T));
    else
      for (T& value : values) read(value);
  }
  template <class T>
  void read(std::optional<T>& value) {
    bool there = false;
    read(there);
    value.reset();
    if (there) read(value.emplace());
  }
  void read(Tensor& tensor) {
    bool defined = false;
    read(defined);
    tensor = Tensor();
    if (!defined) return;
    DType dtype{};
    std::vector<std::int64_t> shape;
    read(dtype);
    read(shape);
    tensor = Tensor::empty(Shape(std::span<const std::int64_t>(shape)), dtype, Device::cpu);
    take(tensor.raw().data(), tensor.bytes());
  }

  std::span<const std::byte> bytes_;
};

}  // namespace npzoo
