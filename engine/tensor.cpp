#include "npzoo/engine/tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/cuda/transfer.h"
#include "npzoo/engine/fill.h"
#include "npzoo/engine/kernel_arguments.h"
#include "npzoo/engine/tape.h"

namespace npzoo {

namespace {

std::size_t checked_bytes(const Shape& shape, DType dtype) {
  constexpr auto kMost =
      std::min<std::uint64_t>(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::size_t>::max());
  constexpr auto kLimit = static_cast<std::int64_t>(kMost / 16);
  std::int64_t count = 1;
  for (std::int64_t dim : shape) {
    check(dim == 0 || count <= kLimit / dim, "[tensor] {} has more elements than memory can hold", shape);
    count *= dim;
  }
  return static_cast<std::size_t>(count) * size_of(dtype);
}

template <class F>
decltype(auto) with_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32: return f.template operator()<float>();
    case DType::float64: return f.template operator()<double>();
    case DType::int64: return f.template operator()<std::int64_t>();
  }
  fail("[dtype] {} found, expected float32, float64 or int64", static_cast<int>(dtype));
}

/// Returns a real number as an element. Throws Error if an integer cannot hold it: that conversion is undefined.
template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, std::int64_t> && std::is_floating_point_v<From>) {
    constexpr auto kLimit = static_cast<From>(std::uint64_t{1} << 63);
    check(-kLimit <= x && x < kLimit, "[tensor] {} found, expected a value that int64 can hold", x);
  }
  return static_cast<To>(x);
}

void check_constant(const char* function, const Tensor& x) {
  check(!needs_grad(x),
        "[{}] found a variable of the recording, expected a constant, since the result has no gradient; use detach()",
        function);
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype, std::optional<Device> device) {
  Tensor result;
  result.device_ = device.value_or(dtype == DType::int64 ? Device::cpu : default_device());
  result.buffer_ = Buffer(checked_bytes(shape, dtype), result.device_);
  result.shape_ = shape;
  result.numel_ = shape.numel();
  result.dtype_ = dtype;
  return result;
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, std::optional<Device> device) {
  Tensor result = empty(shape, dtype, device);
  if (result.device_ == Device::cpu)
    std::memset(result.buffer_.data(), 0, result.bytes());
  else
    gpu_runtime().fill(result.buffer_.data(), 0, result.bytes());
  return result;
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype, std::optional<Device> device) {
  Tensor result = empty(shape, dtype, device);
  if (result.device_ == Device::cpu)
    with_dtype(dtype, [&]<class T>() { std::ranges::fill(result.values<T>(), converted<T>(value)); });
  else
    fill(result, value);
  return result;
}

Tensor Tensor::pinned(const Shape& shape, DType dtype) {
  Tensor result;
  result.buffer_ = Buffer::pinned(checked_bytes(shape, dtype));
  result.shape_ = shape;
  result.numel_ = shape.numel();
  result.dtype_ = dtype;
  return result;
}

Tensor Tensor::of(const Buffer& memory, const Shape& shape, DType dtype) {
  const std::size_t bytes = checked_bytes(shape, dtype);
  check(bytes <= memory.bytes(), "[tensor] {} bytes of memory found, expected {} for {} of shape {}", memory.bytes(),
        bytes, npzoo::to_string(dtype), shape);
  Tensor result;
  result.shape_ = shape;
  result.numel_ = shape.numel();
  result.dtype_ = dtype;
  result.device_ = memory.device();
  result.buffer_ = memory;
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % size_of(dtype) == 0) return result;
  return result.clone();
}

template <class T>
Tensor Tensor::from(const Shape& shape, std::span<const T> values) {
  check(static_cast<std::int64_t>(values.size()) == shape.numel(), "[tensor] {} values given for shape {}",
        values.size(), shape);
  Tensor result = empty(shape, dtype_of<T>(), Device::cpu);
  std::ranges::copy(values, result.values<T>().begin());
  return dtype_of<T>() == DType::int64 ? result : result.to(default_device());
}

template Tensor Tensor::from(const Shape&, std::span<const float>);
template Tensor Tensor::from(const Shape&, std::span<const double>);
template Tensor Tensor::from(const Shape&, std::span<const std::int64_t>);

double Tensor::item() const {
  check(numel_ == 1, "[item] shape {} has {} elements, expected one", shape_, numel_);
  const Tensor here = detach().to(Device::cpu);
  return with_dtype(dtype_, [&]<class T>() { return static_cast<double>(here.values<T>()[0]); });
}

Tensor Tensor::view(const Shape& shape) const {
  check_constant("view", *this);
  check(shape.numel() == numel_, "[view] shape {} with {} elements cannot be seen as {}", shape_, numel_, shape);
  Tensor result = detach();
  result.shape_ = shape;
  return result;
}

Tensor Tensor::clone() const {
  if (!defined()) return {};
  check_constant("clone", *this);
  Tensor result = empty_like(*this);
  if (device_ == Device::cpu)
    std::memcpy(result.buffer_.data(), buffer_.data(), bytes());
  else
    gpu_runtime().copy(result.buffer_.data(), buffer_.data(), bytes());
  return result;
}

Tensor Tensor::to(Device device) const {
  if (device == device_ || !defined()) return *this;
  check_constant("to", *this);
  Tensor result = empty(shape_, dtype_, device);
  if (device == Device::cpu)
    download(result.buffer_.data(), buffer_.data(), bytes());
  else if (buffer_.is_pinned())
    upload_pinned(result.buffer_.data(), buffer_, bytes());
  else
    upload(result.buffer_.data(), buffer_.data(), bytes());
  return result;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_ || !defined()) return *this;
  check_constant("to", *this);
  if (device_ != Device::cpu && dtype == DType::int64) return to(Device::cpu).to(dtype);
  if (device_ != Device::cpu && dtype_ == DType::int64) return to(Device::cpu).to(dtype).to(device_);
  Tensor result = empty(shape_, dtype, device_);
  if (device_ != Device::cpu) {
    convert(*this, result);
    return result;
  }
  with_dtype(dtype_, [&]<class From>() {
    with_dtype(dtype, [&]<class To>() {
      std::ranges::transform(values<From>(), result.values<To>().begin(), [](From x) { return converted<To>(x); });
    });
  });
  return result;
}

Tensor Tensor::detach() const {
  Tensor result = *this;
  result.variable_ = {};
  return result;
}

Tensor Tensor::symbol() const {
  Tensor result = *this;
  result.buffer_ = {};
  return result;
}

void* Tensor::reachable_data(DType expected) const {
  if (!defined()) return nullptr;
  if (!KernelArguments::gathered()) return host_data(expected);
  KernelArguments::check_device(device_);
  return typed_data(expected);
}

void* Tensor::typed_data(DType expected) const {
  check(dtype_ == expected || !defined(), "[tensor] elements are {}, read as {}", npzoo::to_string(dtype_),
        npzoo::to_string(expected));
  return buffer_.data();
}

void* Tensor::host_data(DType expected) const {
  check(device_ == Device::cpu || unified_memory() || !defined(),
        "[tensor] elements are on {}, expected them on the CPU", npzoo::to_string(device_));
  return typed_data(expected);
}

}  // namespace npzoo
