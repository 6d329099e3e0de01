#include "npzoo/ops/reshape/reshape.h"

#include <algorithm>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/reshape/kernels.h"

namespace npzoo {

namespace {

bool stretches_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 1; i <= from.rank(); ++i)
    if (from[-i] != 1 && from[-i] != to[-i]) return false;
  return true;
}

template <class T>
BroadcastCopy<T> plan(const Tensor& x, Tensor& out) {
  BroadcastCopy<T> p{.rank = 1, .extent = {1}, .stride = {1}, .x = x.data<T>(), .out = out.data<T>()};
  std::int64_t step = 1;
  for (int i = 1; i <= out.rank(); ++i) {  // from the last axis outwards
    const std::int64_t n = i <= x.rank() ? x.dim(-i) : 1, stride = n == 1 ? 0 : step;
    step *= n;
    if (out.dim(-i) == 1) continue;
    const int last = p.rank - 1;
    if (p.extent[last] == 1) {
      p.extent[last] = out.dim(-i);
      p.stride[last] = stride;
    } else if (stride == p.stride[last] * p.extent[last]) {
      p.extent[last] *= out.dim(-i);
    } else {
      p.extent[p.rank] = out.dim(-i);
      p.stride[p.rank++] = stride;
    }
  }
  std::reverse(p.extent, p.extent + p.rank);
  std::reverse(p.stride, p.stride + p.rank);
  return p;
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  check(x.numel() == shape.numel(), "[reshape] x {} has {} elements, {} has {}", x.shape(), x.numel(), shape,
        shape.numel());
  Tensor out = x.detach().view(shape);
  record("reshape", out, {x},
         [x = x.symbol()](const Tensor& d_out, Grads& grads) { grads.add(x, d_out.view(x.shape())); });
  return out;
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  check(stretches_to(x.shape(), shape), "[broadcast_to] x {} does not stretch to {}", x.shape(), shape);
  Tensor out = Tensor::empty(shape, x.dtype(), x.device());
  if (out.numel() > 0)
    run("broadcast_to", x, [&]<class T>(const Backend& device) { broadcast_copy<T>(device, plan<T>(x, out)); });
  // Grads::add sums what comes in the broadcast shape.
  record("broadcast_to", out, {x}, [x = x.symbol()](const Tensor& d_out, Grads& grads) { grads.add(x, d_out); });
  return out;
}

}  // namespace npzoo
