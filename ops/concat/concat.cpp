#include "npzoo/ops/concat/concat.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/concat/kernels.h"
#include "npzoo/ops/reduce/axis.h"

namespace npzoo {

namespace {

/// Place of consecutive positions of an axis in the whole array: `rows` runs of `width` elements.
struct Piece {
  std::int64_t rows, width, offset, step;
};

Piece piece_of(const AxisView& axis, std::int64_t begin, std::int64_t size) {
  return {axis.outer, size * axis.inner, begin * axis.inner, axis.extent * axis.inner};
}

void read(const char* operation, const Tensor& whole, const Piece& piece, Tensor& out, bool accumulate = false) {
  run(operation, whole, [&]<class T>(const Backend& device) {
    copy_rows<T>(device, {piece.rows, piece.width, whole.data<T>() + piece.offset, piece.step, out.data<T>(),
                          piece.width, accumulate});
  });
}

/// Puts `x`, or zeros if it is undefined, in its place.
void write(const char* operation, const Tensor& x, const Piece& piece, Tensor& whole, bool accumulate = false) {
  if (accumulate && !x.defined()) return;
  run(operation, whole, [&]<class T>(const Backend& device) {
    copy_rows<T>(device, {piece.rows, piece.width, x.data<T>(), x.defined() ? piece.width : 0,
                          whole.data<T>() + piece.offset, piece.step, accumulate});
  });
}

void check_parts(std::span<const Tensor> xs, const AxisView& axis) {
  for (std::size_t i = 1; i < xs.size(); ++i) {
    const Shape &first = xs[0].shape(), &shape = xs[i].shape();
    check(xs[i].dtype() == xs[0].dtype(), "[concat] tensor {} is {}, the first one {}", i, to_string(xs[i].dtype()),
          to_string(xs[0].dtype()));
    check(shape.rank() == first.rank() && shape.with(axis.index, first[axis.index]) == first,
          "[concat] tensor {} has shape {}, expected {} in all but axis {}", i, shape, first, axis.index);
  }
}

}  // namespace

Tensor concat(std::span<const Tensor> xs, int axis_index) {
  check(!xs.empty(), "[concat] no tensors given, expected one or more");
  AxisView axis = axis_of("concat", xs[0].shape(), axis_index);
  check_parts(xs, axis);
  axis.extent = 0;
  for (const Tensor& x : xs) axis.extent += x.dim(axis.index);

  Tensor out = Tensor::empty(xs[0].shape().with(axis.index, axis.extent), xs[0].dtype(), xs[0].device());
  std::int64_t begin = 0;
  for (const Tensor& x : xs) {
    write("concat", x, piece_of(axis, begin, x.dim(axis.index)), out);
    begin += x.dim(axis.index);
  }
  std::vector<Tensor> symbols;
  for (const Tensor& x : xs) symbols.push_back(x.symbol());
  record("concat", out, xs, [axis, symbols = std::move(symbols)](const Tensor& d_out, Grads& grads) {
    std::int64_t begin = 0;
    for (const Tensor& x : symbols) {
      const std::int64_t size = x.dim(axis.index);
      if (grads.wants(x)) {
        auto [d_x, accumulate] = grads.into(x);
        read("concat", d_out, piece_of(axis, begin, size), d_x, accumulate);
      }
      begin += size;
    }
  });
  return out;
}

Tensor slice(const Tensor& x, int axis_index, std::int64_t begin, std::int64_t end) {
  const AxisView axis = axis_of("slice", x.shape(), axis_index);
  check(0 <= begin && begin <= end && end <= axis.extent, "[slice] [{}, {}) is not within [0, {}) of axis {} of {}",
        begin, end, axis.extent, axis.index, x.shape());
  Tensor out = Tensor::empty(x.shape().with(axis.index, end - begin), x.dtype(), x.device());
  read("slice", x, piece_of(axis, begin, end - begin), out);
  record("slice", out, {x}, [x = x.symbol(), axis, begin, end](const Tensor& d_out, Grads& grads) {
    auto [d_x, accumulate] = grads.into(x);
    write("slice", {}, piece_of(axis, 0, begin), d_x, accumulate);
    write("slice", d_out, piece_of(axis, begin, end - begin), d_x, accumulate);
    write("slice", {}, piece_of(axis, end, axis.extent - end), d_x, accumulate);
  });
  return out;
}

std::vector<Tensor> split(const Tensor& x, int axis_index, std::span<const std::int64_t> sizes) {
  const AxisView axis = axis_of("split", x.shape(), axis_index);
  const auto fits = [&](std::int64_t size) { return 0 <= size && size <= axis.extent; };
  check(std::ranges::all_of(sizes, fits) && std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == axis.extent,
        "[split] sizes ({}) found, expected none below 0 and a sum of {} for axis {} of {}", fmt::join(sizes, ", "),
        axis.extent, axis.index, x.shape());
  std::vector<Piece> pieces;
  std::vector<Tensor> outs;
  std::int64_t begin = 0;
  for (std::int64_t size : sizes) {
    pieces.push_back(piece_of(axis, begin, size));
    outs.push_back(Tensor::empty(x.shape().with(axis.index, size), x.dtype(), x.device()));
    read("split", x, pieces.back(), outs.back());
    begin += size;
  }
  record("split", outs, {x},
         [x = x.symbol(), pieces = std::move(pieces)](std::span<const Tensor> d_outs, Grads& grads) {
           auto [d_x, accumulate] = grads.into(x);
           for (std::size_t i = 0; i < pieces.size(); ++i) write("split", d_outs[i], pieces[i], d_x, accumulate);
         });
  return outs;
}

void copy_slice(const Tensor& part, int axis_index, std::int64_t begin, Tensor& whole) {
  const AxisView axis = axis_of("copy_slice", whole.shape(), axis_index);
  const std::int64_t size = part.dim(axis.index);
  check(part.shape() == whole.shape().with(axis.index, size) && 0 <= begin && begin <= axis.extent - size,
        "[copy_slice] {} does not fit {} from position {} of axis {} on", part.shape(), whole.shape(), begin,
        axis.index);
  write("copy_slice", part, piece_of(axis, begin, size), whole);
}

}  // namespace npzoo
