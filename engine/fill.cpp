#include "npzoo/engine/fill.h"

#include <type_traits>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/kernels.h"

namespace npzoo {

void add_into(Tensor& y, const Tensor& x) {
  check(x.shape() == y.shape() && x.dtype() == y.dtype(), "[add_into] cannot add {} of shape {} to {} of shape {}",
        to_string(x.dtype()), x.shape(), to_string(y.dtype()), y.shape());
  run("add_into", x,
      [&]<class T>(auto& device) { add_into<T>(device, {.n = x.numel(), .x = x.data<T>(), .y = y.data<T>()}); });
}

void fill(Tensor& x, double value) {
  run_on_cuda("fill", x, [&]<class T>(auto& cuda) { fill<T>(cuda, {x.numel(), static_cast<T>(value), x.data<T>()}); });
}

void convert(const Tensor& x, Tensor& y) {
  run_on_cuda("convert", x, [&]<class T>(auto& cuda) {
    using To = std::conditional_t<std::is_same_v<T, float>, double, float>;
    convert<T>(cuda, {x.numel(), x.data<T>(), y.data<To>()});
  });
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  const int missing = x.rank() - shape.rank();
  check(missing >= 0 && broadcast(shape, x.shape()) == x.shape(), "[sum_to] {} cannot be broadcast to {}", shape,
        x.shape());
  const auto summed = [&](int axis) { return axis < missing || shape[axis - missing] != x.dim(axis); };

  // Neighbouring axes are summed together; an axis of extent 1 may count as either kind.
  Tensor result = x.detach();
  std::int64_t outer = 1;
  for (int axis = 0; axis < x.rank();) {
    if (!summed(axis)) {
      outer *= x.dim(axis++);
      continue;
    }
    std::int64_t middle = 1;
    for (; axis < x.rank() && (summed(axis) || x.dim(axis) == 1); ++axis) middle *= x.dim(axis);
    std::int64_t inner = 1;
    for (int rest = axis; rest < x.rank(); ++rest) inner *= x.dim(rest);
    Tensor sum = Tensor::empty({outer, inner}, x.dtype(), x.device());
    run("sum_to", x, [&]<class T>(auto& device) {
      sum_middle<T>(device,
                    {.outer = outer, .middle = middle, .inner = inner, .x = result.data<T>(), .y = sum.data<T>()});
    });
    result = sum;
  }
  return result.view(shape);
}

}  // namespace npzoo
