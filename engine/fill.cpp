#include "npzoo/engine/fill.h"

#include <type_traits>
#include <vector>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/kernels.h"

namespace npzoo {

void add_into(Tensor& y, const Tensor& x) {
  check(x.shape() == y.shape() && x.dtype() == y.dtype(), "[add_into] cannot add {} of shape {} to {} of shape {}",
        to_string(x.dtype()), x.shape(), to_string(y.dtype()), y.shape());
  run("add_into", x, [&]<class T>(const Backend& device) {
    add_into<T>(device, {.n = x.numel(), .x = x.data<T>(), .y = y.data<T>()});
  });
}

void fill(Tensor& x, double value) {
  run_on_cuda("fill", x, [&]<class T>(const Backend& cuda) {
    fill<T>(cuda, {x.numel(), static_cast<T>(value), x.data<T>()});
  });
}

void convert(const Tensor& x, Tensor& y) {
  run_on_cuda("convert", x, [&]<class T>(const Backend& cuda) {
    using To = std::conditional_t<std::is_same_v<T, float>, double, float>;
    convert<T>(cuda, {x.numel(), x.data<T>(), y.data<To>()});
  });
}

namespace {

/// Neighbouring axes of a tensor that are summed together.
struct SummedAxes {
  std::int64_t outer, middle, inner;
};

/// Returns the axes of `from` that are summed, from left to right. `outer` does not count the axes of earlier ones.
std::vector<SummedAxes> summed_axes(const Shape& from, const Shape& to) {
  const int missing = from.rank() - to.rank();
  const auto summed = [&](int axis) { return axis < missing || to[axis - missing] != from[axis]; };
  std::vector<SummedAxes> found;
  std::int64_t outer = 1;
  for (int axis = 0; axis < from.rank();) {
    if (!summed(axis)) {
      outer *= from[axis++];
      continue;
    }
    std::int64_t middle = 1, inner = 1;  // an axis of extent 1 may count as either kind
    for (; axis < from.rank() && (summed(axis) || from[axis] == 1); ++axis) middle *= from[axis];
    for (int rest = axis; rest < from.rank(); ++rest) inner *= from[rest];
    found.push_back({outer, middle, inner});
  }
  return found;
}

}  // namespace

Tensor sum_to(const Tensor& x, const Shape& shape, double factor) {
  check(x.rank() >= shape.rank() && broadcast(shape, x.shape()) == x.shape(), "[sum_to] {} cannot be broadcast to {}",
        shape, x.shape());
  std::vector<SummedAxes> passes = summed_axes(x.shape(), shape);
  if (passes.empty() && factor != 1) passes.push_back({x.numel(), 1, 1});
  Tensor sums = x.detach();
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const auto [outer, middle, inner] = passes[i];
    const bool wide = passes.size() > 1 || x.dtype() == DType::float64, last = i + 1 == passes.size();
    Tensor next = Tensor::empty({outer, inner}, wide ? DType::float64 : DType::float32, x.device());
    run("sum_to", sums, [&, outer = outer, middle = middle, inner = inner]<class T>(const Backend& device) {
      sum_middle<T>(device, {.outer = outer,
                             .middle = middle,
                             .inner = inner,
                             .x = sums.data<T>(),
                             .y = wide ? nullptr : next.data<T>(),
                             .wide = wide ? next.data<double>() : nullptr,
                             .factor = last ? factor : 1});
    });
    sums = next;
  }
  return sums.to(x.dtype()).view(shape);
}

}  // namespace npzoo
