#pragma once

#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "npzoo/engine/rank.h"

namespace npzoo {

/// Extents of a row-major array, at most six. A scalar has rank 0 and one element; any extent may be 0.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }
  /// Extent of `axis`; negative axes count from the end.
  std::int64_t operator[](int axis) const { return dims_[index(axis)]; }
  std::int64_t numel() const;
  /// Product of all extents but the last: how many rows a row-wise kernel sees.
  std::int64_t rows() const;
  /// The last extent, 1 for a scalar.
  std::int64_t last() const { return rank_ ? dims_[rank_ - 1] : 1; }

  Shape with(int axis, std::int64_t extent) const;
  Shape without(int axis) const;
  /// The non-negative form of `axis`; throws Error if there is no such axis.
  int index(int axis) const;

  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

/// "(2, 3)", "()" for a scalar.
std::string to_string(const Shape& shape);

/// The shape that both broadcast to under the usual rules (axes aligned at the end, extent 1 stretches).
Shape broadcast(const Shape& a, const Shape& b);

}  // namespace npzoo

template <>
struct fmt::formatter<npzoo::Shape> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  format_context::iterator format(const npzoo::Shape& shape, format_context& context) const;
};
