#pragma once

#include <string_view>

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// A row-major array seen around one of its axes: (outer, extent, inner).
struct AxisView {
  std::int64_t outer = 1, extent = 1, inner = 1;
  int index = 0;
};

/// Throws Error, in the name of `op`, when x has no such axis. Negative axes count from the end.
inline AxisView axis_of(std::string_view op, const Shape& shape, int axis) {
  check(-shape.rank() <= axis && axis < shape.rank(), "[{}] axis {} does not exist in {}", op, axis, shape);
  AxisView a{.extent = shape[axis], .index = shape.index(axis)};
  for (int i = 0; i < a.index; ++i) a.outer *= shape[i];
  for (int i = a.index + 1; i < shape.rank(); ++i) a.inner *= shape[i];
  return a;
}

}  // namespace npzoo
