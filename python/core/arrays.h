#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/engine/tensor.h"

namespace npzoo::python {

namespace nb = nanobind;

/// An array of the caller, of any library, on the CPU: any dtype, order and strides; it may be read-only.
using Array = nb::ndarray<nb::ro, nb::device::cpu>;
/// Doubles in C order, which the library reads in place.
using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Returns a copy of an array of numbers in C order. Throws Error, naming the argument, for an array that holds no
/// numbers.
Tensor tensor_from(const Array& array, const std::string& name, DType dtype);

/// Points (N, width) or (B, N, width) as (B, N, width), B = 1 for the former. Throws Error, naming the argument, for
/// another shape.
struct Points {
  Tensor values;
  bool single = false;  // (N, width) was given
};
Points points_from(const Array& array, const std::string& name, std::int64_t width, DType dtype);

/// Counts of points (B), each from 0 to `most`; none: undefined.
Tensor lengths_from(const std::optional<Array>& array, const std::string& name, std::int64_t tasks, std::int64_t most);

/// An array of NumPy, which the module's stub names so.
class NumpyArray : public nb::object {
  NB_OBJECT_DEFAULT(NumpyArray, nb::object, "numpy.ndarray", [](PyObject*) { return true; })
};

/// Returns a NumPy array that owns the tensor's memory, without a copy unless others share it. `single` drops the axis
/// of extent 1 at `axis`.
NumpyArray array_from(Tensor tensor, bool single = false, int axis = 0);
/// Returns a NumPy array of these values, without a copy.
NumpyArray array_from(std::vector<double> values, std::vector<std::size_t> shape);
NumpyArray array_from(std::vector<std::int64_t> values, std::vector<std::size_t> shape);

inline std::span<const double> span_of(const Doubles& array) { return {array.data(), array.size()}; }

}  // namespace npzoo::python
