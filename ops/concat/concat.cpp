#include "npzoo/ops/concat/concat.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/concat/kernels.h"
#include "npzoo/ops/mask_points/lengths.h"
#include "npzoo/ops/reduce/axis.h"

namespace npzoo {

namespace {

/// The place of a piece in an array: its first element, and how far it is from one set or row to the next.
struct PiecePlace {
  std::int64_t offset, set, row;
};

/// A piece that is copied: `rows` runs of `width` elements in each of `sets`.
struct PieceCopy {
  std::int64_t sets, rows, width;
  Tensor from;  // undefined: `value` everywhere
  PiecePlace of_from;
  Tensor to;
  PiecePlace of_to;
  bool accumulate = false;
  double value = 0;
  Tensor lengths{};  // see CopiedPiece
};

template <class T>
CopiedPiece<T> piece_of(const PieceCopy& c) {
  const T* from = c.from.data<T>();
  Tensor to = c.to;
  return {c.sets,
          c.rows,
          c.width,
          from ? from + c.of_from.offset : nullptr,
          c.of_from.set,
          c.of_from.row,
          to.data<T>() + c.of_to.offset,
          c.of_to.set,
          c.of_to.row,
          static_cast<T>(c.value),
          c.accumulate,
          c.lengths.data<std::int64_t>()};
}

/// Copies pieces that do not overlap, by as few kernels as can be.
void copy(const char* operation, std::span<const PieceCopy> copies) {
  if (copies.empty()) return;
  run(operation, copies[0].to, [&]<class T>(const Backend& device) {
    CopyPieces<T> some;
    for (const PieceCopy& each : copies) {
      const CopiedPiece<T> piece = piece_of<T>(each);
      if (piece.sets == 0 || piece.rows == 0 || piece.width == 0) continue;
      if (some.count == CopyPieces<T>::kMost) {
        copy_pieces<T>(device, some);
        some.count = 0;
      }
      some.pieces[some.count++] = piece;
    }
    if (some.count > 0) copy_pieces<T>(device, some);
  });
}

/// Copies between positions of an axis from `begin` on and an array of these positions alone.
PieceCopy read(const Tensor& whole, const AxisView& axis, std::int64_t begin, std::int64_t size, const Tensor& part,
               bool accumulate = false) {
  const std::int64_t width = size * axis.inner;
  return {1,    axis.outer,    width,     whole, {begin * axis.inner, 0, axis.extent * axis.inner},
          part, {0, 0, width}, accumulate};
}
PieceCopy write(const Tensor& part, const AxisView& axis, std::int64_t begin, std::int64_t size, const Tensor& whole,
                double value = 0) {
  const std::int64_t width = size * axis.inner;
  return {1,     axis.outer, width, part, {0, 0, width}, whole, {begin * axis.inner, 0, axis.extent * axis.inner},
          false, value};
}

/// The pieces of a gradient of `axis` that begin at `begins`. Those that nothing depends on are 0.
void write_gradients(const char* operation, std::span<const Tensor> d_pieces, std::span<const std::int64_t> begins,
                     const AxisView& axis, const Tensor& x, Grads& grads) {
  auto [d_x, accumulate] = grads.into(x);
  std::vector<PieceCopy> copies;
  for (std::size_t i = 0; i < d_pieces.size(); ++i) {
    if (accumulate && !d_pieces[i].defined()) continue;
    const std::int64_t end = i + 1 < begins.size() ? begins[i + 1] : axis.extent;
    copies.push_back(write(d_pieces[i], axis, begins[i], end - begins[i], d_x));
    copies.back().accumulate = accumulate;
  }
  copy(operation, copies);
}

/// Gradients of arrays that were put side by side. An array that occurs twice gets the second part in another kernel.
class GradientsOfParts {
 public:
  GradientsOfParts(const char* operation, Grads& grads) : operation_(operation), grads_(grads) {}

  /// Adds a part of `x`; `copy.to` is filled in.
  void add(const Tensor& x, PieceCopy part) {
    if (!grads_.wants(x)) return;
    const auto same = [&x](const Variable& other) {
      return other.tape == x.variable().tape && other.index == x.variable().index;
    };
    if (std::ranges::any_of(written_, same)) finish();
    auto [d_x, accumulate] = grads_.into(x);
    part.to = d_x;
    part.accumulate = accumulate;
    copies_.push_back(std::move(part));
    written_.push_back(x.variable());
  }

  void finish() {
    copy(operation_, copies_);
    copies_.clear();
    written_.clear();
  }

 private:
  const char* operation_;
  Grads& grads_;
  std::vector<PieceCopy> copies_;
  std::vector<Variable> written_;
};

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
  std::vector<PieceCopy> copies;
  std::vector<Tensor> symbols;
  std::int64_t begin = 0;
  for (const Tensor& x : xs) {
    copies.push_back(write(x, axis, begin, x.dim(axis.index), out));
    symbols.push_back(x.symbol());
    begin += x.dim(axis.index);
  }
  copy("concat", copies);
  record("concat", out, xs, [axis, symbols = std::move(symbols)](const Tensor& d_out, Grads& grads) {
    GradientsOfParts parts("concat", grads);
    std::int64_t begin = 0;
    for (const Tensor& x : symbols) {
      parts.add(x, read(d_out, axis, begin, x.dim(axis.index), {}));
      begin += x.dim(axis.index);
    }
    parts.finish();
  });
  return out;
}

Tensor slice(const Tensor& x, int axis_index, std::int64_t begin, std::int64_t end) {
  const AxisView axis = axis_of("slice", x.shape(), axis_index);
  check(0 <= begin && begin <= end && end <= axis.extent, "[slice] [{}, {}) is not within [0, {}) of axis {} of {}",
        begin, end, axis.extent, axis.index, x.shape());
  Tensor out = Tensor::empty(x.shape().with(axis.index, end - begin), x.dtype(), x.device());
  copy("slice", std::array{read(x, axis, begin, end - begin, out)});
  record("slice", out, {x}, [x = x.symbol(), axis, begin, end](const Tensor& d_out, Grads& grads) {
    write_gradients("slice", std::array{Tensor(), d_out, Tensor()}, std::array{std::int64_t{0}, begin, end}, axis, x,
                    grads);
  });
  return out;
}

std::vector<Tensor> split(const Tensor& x, int axis_index, std::span<const std::int64_t> sizes) {
  const AxisView axis = axis_of("split", x.shape(), axis_index);
  const auto fits = [&](std::int64_t size) { return 0 <= size && size <= axis.extent; };
  check(std::ranges::all_of(sizes, fits) && std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == axis.extent,
        "[split] sizes ({}) found, expected none below 0 and a sum of {} for axis {} of {}", fmt::join(sizes, ", "),
        axis.extent, axis.index, x.shape());
  std::vector<std::int64_t> begins;
  std::vector<PieceCopy> copies;
  std::vector<Tensor> outs;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    begins.push_back(begin);
    outs.push_back(Tensor::empty(x.shape().with(axis.index, size), x.dtype(), x.device()));
    copies.push_back(read(x, axis, begin, size, outs.back()));
    begin += size;
  }
  copy("split", copies);
  record("split", outs, {x},
         [x = x.symbol(), axis, begins = std::move(begins)](std::span<const Tensor> d_outs, Grads& grads) {
           write_gradients("split", d_outs, begins, axis, x, grads);
         });
  return outs;
}

void copy_slices(std::span<const SliceToCopy> slices) {
  std::vector<PieceCopy> copies;
  for (const SliceToCopy& each : slices) {
    const AxisView axis = axis_of("copy_slice", each.whole.shape(), each.axis);
    const std::int64_t size = each.part.defined() ? each.part.dim(axis.index) : each.size;
    const Shape expected = each.whole.shape().with(axis.index, size);
    check(
        (!each.part.defined() || each.part.shape() == expected) && 0 <= each.begin && each.begin <= axis.extent - size,
        "[copy_slice] {} does not fit {} from position {} of axis {} on",
        each.part.defined() ? each.part.shape() : expected, each.whole.shape(), each.begin, axis.index);
    copies.push_back(write(each.part, axis, each.begin, size, each.whole, each.value));
  }
  copy("copy_slice", copies);
}

namespace {

/// Throws Error unless the arrays of a set fit each other and the first one of all. Returns their columns.
std::int64_t check_set(const PointsToJoin& set, const Tensor& first) {
  check(!set.columns.empty(), "[concat_points] a set without arrays found, expected one or more");
  const Tensor& own = set.columns[0];
  check(own.rank() == 3, "[concat_points] {} found, expected (B, N, D)", own.shape());
  std::int64_t columns = 0;
  for (const Tensor& x : set.columns) {
    check(x.dtype() == first.dtype(), "[concat_points] {} found beside {}", to_string(x.dtype()),
          to_string(first.dtype()));
    check(x.rank() == 3 && x.dim(0) == first.dim(0) && x.dim(1) == own.dim(1),
          "[concat_points] {} found, expected ({}, {}, D)", x.shape(), first.dim(0), own.dim(1));
    columns += x.dim(2);
  }
  if (set.lengths.defined()) check_lengths("concat_points", own, set.lengths);
  return columns;
}

}  // namespace

Tensor concat_points(std::span<const PointsToJoin> sets) {
  check(!sets.empty() && !sets[0].columns.empty(), "[concat_points] no points given, expected a set or more");
  const Tensor& first = sets[0].columns[0];
  std::int64_t points = 0, width = 0;
  for (const PointsToJoin& set : sets) {
    width = std::max(width, check_set(set, first));
    points += set.columns[0].dim(1);
  }
  const std::int64_t batch = first.dim(0);
  Tensor out = Tensor::empty({batch, points, width}, first.dtype(), first.device());
  std::vector<PieceCopy> copies, of_gradients;  // the latter without their arrays
  std::vector<Tensor> inputs;
  std::int64_t row = 0;
  for (const PointsToJoin& set : sets) {
    const std::int64_t rows = set.columns[0].dim(1);
    const Tensor lengths = set.lengths.defined() ? set.lengths.to(first.device()) : Tensor();
    std::int64_t column = 0;
    const auto add = [&](const Tensor& x, std::int64_t size) {
      const PiecePlace there{row * width + column, points * width, width}, own{0, rows * size, size};
      copies.push_back({batch, rows, size, x, own, out, there, false, 0, lengths});
      if (x.defined()) of_gradients.push_back({batch, rows, size, {}, there, {}, own, false, 0, lengths});
      column += size;
    };
    for (const Tensor& x : set.columns) {
      add(x, x.dim(2));
      inputs.push_back(x);
    }
    add({}, width - column);
    row += rows;
  }
  copy("concat_points", copies);
  std::vector<Tensor> symbols;
  for (const Tensor& x : inputs) symbols.push_back(x.symbol());
  record("concat_points", out, std::span<const Tensor>(inputs),
         [symbols = std::move(symbols), of_gradients = std::move(of_gradients)](const Tensor& d_out, Grads& grads) {
           GradientsOfParts parts("concat_points", grads);
           for (std::size_t i = 0; i < symbols.size(); ++i) {
             PieceCopy part = of_gradients[i];
             part.from = d_out;
             parts.add(symbols[i], std::move(part));
           }
           parts.finish();
         });
  return out;
}

}  // namespace npzoo
