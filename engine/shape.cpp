#include "npzoo/engine/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

std::int64_t product(std::span<const std::int64_t> dims, const Shape& shape) {
  std::int64_t count = 1;
  for (std::int64_t dim : dims)
    check(!__builtin_mul_overflow(count, dim, &count), "[shape] {} has more elements than memory can hold", shape);
  return count;
}

}  // namespace

Shape::Shape(std::span<const std::int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  check(dims.size() <= kMaxRank, "[shape] {} axes given, at most {} are supported", dims.size(), kMaxRank);
  for (std::int64_t dim : dims) check(dim >= 0, "[shape] extent {} is negative", dim);
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

std::int64_t Shape::numel() const { return product({begin(), end()}, *this); }

std::int64_t Shape::rows() const { return product({begin(), begin() + std::max(rank_ - 1, 0)}, *this); }

int Shape::index(int axis) const {
  const int i = axis < 0 ? axis + rank_ : axis;
  check(0 <= i && i < rank_, "[shape] axis {} does not exist in {}", axis, *this);
  return i;
}

Shape Shape::with(int axis, std::int64_t extent) const {
  check(extent >= 0, "[shape] extent {} is negative", extent);
  Shape result = *this;
  result.dims_[index(axis)] = extent;
  return result;
}

Shape Shape::without(int axis) const {
  Shape result = *this;
  std::copy(dims_.begin() + index(axis) + 1, dims_.end(), result.dims_.begin() + index(axis));
  result.dims_[--result.rank_] = 0;
  return result;
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int axis = 0; axis < shape.rank(); ++axis) text += fmt::format("{}{}", axis ? ", " : "", shape[axis]);
  return text + ")";
}

Shape broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  for (int i = 1; i <= shorter.rank(); ++i) {
    const std::int64_t m = longer[-i], n = shorter[-i];
    check(m == n || m == 1 || n == 1, "[broadcast] {} and {} do not agree: axis {} has extents {} and {}", a, b, -i,
          a[-i], b[-i]);
    result = result.with(-i, m == 1 ? n : m);
  }
  return result;
}

}  // namespace npzoo

fmt::format_context::iterator fmt::formatter<npzoo::Shape>::format(const npzoo::Shape& shape,
                                                                   format_context& context) const {
  return fmt::format_to(context.out(), "{}", to_string(shape));
}
