#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/elementwise/kernels.h"

namespace npzoo {

namespace {

/// Extents and strides of a broadcast pair, with neighbouring axes merged.
template <class T>
BinaryForward<T> plan(const Tensor& a, const Tensor& b, const Shape& shape) {
  BinaryForward<T> p{};
  std::int64_t a_step = 1, b_step = 1;
  std::array<std::int64_t, kMaxRank> extent{}, a_stride{}, b_stride{};
  int axes = 0;  // from the last axis outwards
  for (int i = 1; i <= shape.rank(); ++i) {
    const std::int64_t n = shape[-i];
    const std::int64_t a_extent = i <= a.rank() ? a.dim(-i) : 1, b_extent = i <= b.rank() ? b.dim(-i) : 1;
    const std::int64_t sa = a_extent == 1 ? 0 : a_step, sb = b_extent == 1 ? 0 : b_step;
    a_step *= a_extent;
    b_step *= b_extent;
    if (n == 1) continue;
    const bool merges =
        axes > 0 && sa == a_stride[axes - 1] * extent[axes - 1] && sb == b_stride[axes - 1] * extent[axes - 1];
    if (merges) {
      extent[axes - 1] *= n;
      continue;
    }
    extent[axes] = n;
    a_stride[axes] = sa;
    b_stride[axes] = sb;
    ++axes;
  }
  p.rank = axes;
  for (int i = 0; i < axes; ++i) {
    p.extent[i] = extent[axes - 1 - i];
    p.a_stride[i] = a_stride[axes - 1 - i];
    p.b_stride[i] = b_stride[axes - 1 - i];
  }
  return p;
}

Tensor apply(Binary function, const char* name, const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), "[{}] dtypes {} and {} must agree", name, to_string(a.dtype()), to_string(b.dtype()));
  const Shape shape = broadcast(a.shape(), b.shape());
  Tensor out = Tensor::empty(shape, a.dtype(), a.device());
  if (out.numel() == 0) return out;
  run(name, a, [&]<class T>(const Backend& device) {
    auto p = plan<T>(a, b, shape);
    p.function = function;
    p.a = a.data<T>();
    p.b = b.data<T>();
    p.out = out.data<T>();
    binary_forward<T>(device, p);
  });
  return out;
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  Tensor out = apply(Binary::add, "add", a, b);
  record("add", out, {a, b}, [a = a.symbol(), b = b.symbol()](const Tensor& d_out, Grads& grads) {
    grads.add(a, d_out);
    grads.add(b, d_out);
  });
  return out;
}

Tensor sub(const Tensor& a, const Tensor& b) {
  Tensor out = apply(Binary::sub, "sub", a, b);
  record("sub", out, {a, b}, [a = a.symbol(), b = b.symbol()](const Tensor& d_out, Grads& grads) {
    grads.add(a, d_out);
    if (grads.wants(b)) grads.add(b, affine(d_out, -1, 0));
  });
  return out;
}

Tensor mul(const Tensor& a, const Tensor& b) {
  Tensor out = apply(Binary::mul, "mul", a, b);
  record("mul", out, {a, b}, [a, b](const Tensor& d_out, Grads& grads) {
    if (grads.wants(a)) grads.add(a, mul(d_out, b));
    if (grads.wants(b)) grads.add(b, mul(d_out, a));
  });
  return out;
}

Tensor div(const Tensor& a, const Tensor& b) {
  Tensor out = apply(Binary::div, "div", a, b);
  record("div", out, {a, b}, [a, b](const Tensor& d_out, Grads& grads) {
    const Tensor d_a = div(d_out, b);
    grads.add(a, d_a);
    if (grads.wants(b)) grads.add(b, affine(div(mul(d_a, a), b), -1, 0));
  });
  return out;
}

}  // namespace npzoo
