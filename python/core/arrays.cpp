#include "python/core/arrays.h"

#include <memory>

#include "npzoo/engine/error.h"

namespace npzoo::python {

namespace {

/// Shape as Python writes it.
std::string shape_of(const Array& array) {
  std::string text = "(";
  for (std::size_t d = 0; d < array.ndim(); ++d) text += (d > 0 ? ", " : "") + std::to_string(array.shape(d));
  return text + (array.ndim() == 1 ? ",)" : ")");
}

bool in_c_order(const Array& array) {
  std::int64_t expected = 1;
  for (std::size_t d = array.ndim(); d-- > 0;) {
    if (array.shape(d) != 1 && array.stride(d) != expected) return false;
    expected *= static_cast<std::int64_t>(array.shape(d));
  }
  return true;
}

template <class From, class To>
void gather(const Array& array, const From* from, std::size_t axis, To*& to) {
  if (axis == array.ndim()) {
    *to++ = static_cast<To>(*from);
    return;
  }
  for (std::size_t i = 0; i < array.shape(axis); ++i)
    gather(array, from + static_cast<std::int64_t>(i) * array.stride(axis), axis + 1, to);
}

template <class From, class To>
void copy(const Array& array, To* to) {
  const auto* from = static_cast<const From*>(array.data());
  if (array.size() == 0) return;
  if (in_c_order(array))
    for (std::size_t i = 0; i < array.size(); ++i) to[i] = static_cast<To>(from[i]);
  else
    gather(array, from, 0, to);
}

template <class To>
void copy_any(const Array& array, const std::string& name, To* to) {
  const auto is = [&]<class T>(T) { return array.dtype() == nb::dtype<T>(); };
  if (is(float())) return copy<float>(array, to);
  if (is(double())) return copy<double>(array, to);
  if (is(std::int64_t())) return copy<std::int64_t>(array, to);
  if (is(std::int32_t())) return copy<std::int32_t>(array, to);
  if (is(std::int16_t())) return copy<std::int16_t>(array, to);
  if (is(std::int8_t())) return copy<std::int8_t>(array, to);
  if (is(std::uint64_t())) return copy<std::uint64_t>(array, to);
  if (is(std::uint32_t())) return copy<std::uint32_t>(array, to);
  if (is(std::uint16_t())) return copy<std::uint16_t>(array, to);
  if (is(std::uint8_t())) return copy<std::uint8_t>(array, to);
  if (is(bool())) return copy<bool>(array, to);
  fail("[{}] an array of type code {} with {} bits found, expected float32, float64, integers or booleans", name,
       static_cast<int>(array.dtype().code), static_cast<int>(array.dtype().bits));
}

template <class T>
NumpyArray numpy_array(T* data, std::vector<std::size_t> shape, nb::capsule owner) {
  return nb::borrow<NumpyArray>(nb::cast(nb::ndarray<nb::numpy, T>(data, shape.size(), shape.data(), owner)));
}

template <class T>
NumpyArray owned_array(std::vector<T> values, std::vector<std::size_t> shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owned->data();
  nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  static_cast<void>(owned.release());
  return numpy_array(data, std::move(shape), std::move(owner));
}

}  // namespace

Tensor tensor_from(const Array& array, const std::string& name, DType dtype) {
  check(array.ndim() <= kMaxRank, "[{}] {} axes found, expected at most {}", name, array.ndim(), kMaxRank);
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < array.ndim(); ++d) extents.push_back(static_cast<std::int64_t>(array.shape(d)));
  Tensor tensor = Tensor::empty(Shape(std::span<const std::int64_t>(extents)), dtype, Device::cpu);
  if (dtype == DType::float32) copy_any(array, name, tensor.values<float>().data());
  if (dtype == DType::float64) copy_any(array, name, tensor.values<double>().data());
  if (dtype == DType::int64) copy_any(array, name, tensor.values<std::int64_t>().data());
  return tensor;
}

Points points_from(const Array& array, const std::string& name, std::int64_t width, DType dtype) {
  const bool single = array.ndim() == 2;
  check((single || array.ndim() == 3) && static_cast<std::int64_t>(array.shape(array.ndim() - 1)) == width,
        "[{}] shape {} found, expected (N, {}) or (B, N, {})", name, shape_of(array), width, width);
  Tensor values = tensor_from(array, name, dtype);
  if (single) values = values.view({1, values.dim(0), width});
  return {std::move(values), single};
}

Tensor lengths_from(const std::optional<Array>& array, const std::string& name, std::int64_t tasks, std::int64_t most) {
  if (!array) return {};
  check(array->ndim() == 1 && static_cast<std::int64_t>(array->shape(0)) == tasks,
        "[{}] shape {} found, expected ({},): a number of points for each task", name, shape_of(*array), tasks);
  Tensor lengths = tensor_from(*array, name, DType::int64);
  for (const std::int64_t n : lengths.values<std::int64_t>())
    check(n >= 0 && n <= most, "[{}] {} found, expected 0 to {}", name, n, most);
  return lengths;
}

NumpyArray array_from(Tensor tensor, bool single, int axis) {
  tensor = tensor.to(Device::cpu).detach();
  if (!tensor.unique()) tensor = tensor.clone();
  std::vector<std::size_t> shape;
  for (int d = 0; d < tensor.rank(); ++d)
    if (!single || d != axis) shape.push_back(static_cast<std::size_t>(tensor.dim(d)));
  auto owned = std::make_unique<Tensor>(std::move(tensor));
  Tensor& t = *owned;
  nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  static_cast<void>(owned.release());
  switch (t.dtype()) {
    case DType::float32: return numpy_array(t.values<float>().data(), std::move(shape), std::move(owner));
    case DType::float64: return numpy_array(t.values<double>().data(), std::move(shape), std::move(owner));
    case DType::int64: return numpy_array(t.values<std::int64_t>().data(), std::move(shape), std::move(owner));
  }
  fail("[array] unknown dtype");
}

NumpyArray array_from(std::vector<double> values, std::vector<std::size_t> shape) {
  return owned_array(std::move(values), std::move(shape));
}

NumpyArray array_from(std::vector<std::int64_t> values, std::vector<std::size_t> shape) {
  return owned_array(std::move(values), std::move(shape));
}

}  // namespace npzoo::python
