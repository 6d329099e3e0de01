#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "npzoo/engine/device.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/memory.h"
#include "npzoo/engine/shape.h"

namespace npzoo {

/// Identifies the value in a recording that a tensor is. `tape` 0 is a constant. Its low kPartBits are the number of
/// the tape among those that follow each other (see Tape::follow), or 0 for a leaf that all of them share.
struct Variable {
  static constexpr int kPartBits = 16;

  std::uint64_t tape = 0;
  std::uint32_t index = 0;
};

/// Row-major, contiguous array of one dtype on one device. A Tensor is a handle: copies share the elements.
/// A default-constructed Tensor is undefined and stands for "none".
class Tensor {
 public:
  Tensor() = default;
  /// Makes a tensor with undefined elements, for a kernel to overwrite. Without a device, here and below,
  /// floating-point numbers go to the default device and integers to the CPU: operations read indices and lengths there
  /// and copy them to the device themselves.
  static Tensor empty(const Shape& shape, DType dtype = DType::float32, std::optional<Device> device = {});
  static Tensor empty_like(const Tensor& other) { return empty(other.shape(), other.dtype(), other.device()); }
  static Tensor zeros(const Shape& shape, DType dtype = DType::float32, std::optional<Device> device = {});
  static Tensor zeros_like(const Tensor& other) { return zeros(other.shape(), other.dtype(), other.device()); }
  static Tensor full(const Shape& shape, double value, DType dtype = DType::float32, std::optional<Device> device = {});
  /// Makes a tensor on the CPU, in memory that a CUDA device can copy from by itself.
  static Tensor pinned(const Shape& shape, DType dtype = DType::float32);
  /// Makes the first elements of `memory` a tensor, on the device of the memory, without a copy. If the address is no
  /// multiple of an element's size, which kernels need, the tensor is a copy. Throws Error if there are too few bytes.
  static Tensor of(const Buffer& memory, const Shape& shape, DType dtype);
  /// Copies `values`, which must fill `shape`; the dtype is T's.
  template <class T>
  static Tensor from(const Shape& shape, std::span<const T> values);
  template <class T>
  static Tensor from(const Shape& shape, std::initializer_list<T> values) {
    return from<T>(shape, std::span(values.begin(), values.size()));
  }

  bool defined() const { return static_cast<bool>(buffer_); }
  const Shape& shape() const { return shape_; }
  std::int64_t dim(int axis) const { return shape_[axis]; }
  int rank() const { return shape_.rank(); }
  std::int64_t numel() const { return numel_; }
  std::size_t bytes() const { return static_cast<std::size_t>(numel_) * size_of(dtype_); }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }

  /// Returns the first element: within `run` (engine/backend.h) for kernels of its device, elsewhere for the host.
  /// Throws Error if the elements are on another device, or if T is not the dtype.
  template <class T>
  T* data() {
    return static_cast<T*>(reachable_data(dtype_of<T>()));
  }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(reachable_data(dtype_of<T>()));
  }
  /// Returns the address of the first element, on whatever device it is.
  std::byte* address() { return buffer_.data(); }
  const std::byte* address() const { return buffer_.data(); }
  /// Returns all elements, for the host. Throws Error if they are on another device.
  template <class T>
  std::span<T> values() {
    return {static_cast<T*>(host_data(dtype_of<T>())), static_cast<std::size_t>(numel_)};
  }
  template <class T>
  std::span<const T> values() const {
    return {static_cast<const T*>(host_data(dtype_of<T>())), static_cast<std::size_t>(numel_)};
  }
  std::span<std::byte> raw() { return {static_cast<std::byte*>(host_data(dtype_)), bytes()}; }
  std::span<const std::byte> raw() const { return {static_cast<const std::byte*>(host_data(dtype_)), bytes()}; }

  /// Returns the memory of the elements. It lives as long as the result: an owner for code that reads the elements from
  /// outside, as through DLPack.
  const Buffer& buffer() const { return buffer_; }

  /// Returns the only element as a double. Waits for the device.
  double item() const;

  // The next four functions record nothing, so their results are constants. Each throws Error for a variable of the
  // recording, whose gradient would be lost; `detach` says that this is wanted.

  /// Returns the same elements under another shape of equal size. The differentiable form is the op `reshape`.
  Tensor view(const Shape& shape) const;
  /// Returns a copy of the elements.
  Tensor clone() const;
  /// Returns a copy converted to `dtype`, with integers on the CPU. Returns the tensor itself if nothing changes.
  Tensor to(DType dtype) const;
  /// Returns a copy on another device, or the tensor itself if it is there. A copy to the CPU waits for the device, a
  /// copy from the CPU does not.
  Tensor to(Device device) const;

  /// Returns the same elements as a constant.
  Tensor detach() const;

  /// Returns shape, dtype and variable without the elements: for a closure that does not need an input's values.
  Tensor symbol() const;

  /// True if no other handle shares the elements, so that they may be changed in place.
  bool unique() const { return buffer_.unique(); }

  Variable variable() const { return variable_; }
  void set_variable(Variable variable) { variable_ = variable; }

 private:
  void* reachable_data(DType expected) const;
  void* typed_data(DType expected) const;
  void* host_data(DType expected) const;

  Buffer buffer_;
  Shape shape_;
  std::int64_t numel_ = 0;
  DType dtype_ = DType::float32;
  Device device_ = Device::cpu;
  Variable variable_;
};

}  // namespace npzoo
