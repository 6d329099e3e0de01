#include "npzoo/ops/circulant/circulant.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/circulant/kernels.h"

namespace npzoo {

namespace {

Tensor shifted_rows(const Tensor& a) {
  const std::int64_t length = a.dim(1);
  Tensor out = Tensor::empty({a.dim(0), length, length}, a.dtype(), a.device());
  run("circulant", a, [&]<class T>(const Backend& device) {
    circulant_forward<T>(device, {a.dim(0), length, a.data<T>(), out.data<T>()});
  });
  return out;
}

Tensor sums_of_shifts(const Tensor& x) {
  Tensor out = Tensor::empty({x.dim(0), x.dim(1)}, x.dtype(), x.device());
  run("circulant_sums", x, [&]<class T>(const Backend& device) {
    circulant_add_up<T>(device, {x.dim(0), x.dim(1), x.data<T>(), out.data<T>()});
  });
  return out;
}

}  // namespace

Tensor circulant(const Tensor& a) {
  check(a.rank() == 2, "[circulant] a is {}, expected (B, L)", a.shape());
  Tensor out = shifted_rows(a);
  record("circulant", out, {a},
         [a = a.symbol()](const Tensor& d_out, Grads& grads) { grads.add(a, sums_of_shifts(d_out)); });
  return out;
}

Tensor circulant_sums(const Tensor& x) {
  check(x.rank() == 3 && x.dim(1) == x.dim(2), "[circulant_sums] x is {}, expected (B, L, L)", x.shape());
  Tensor out = sums_of_shifts(x);
  record("circulant_sums", out, {x},
         [x = x.symbol()](const Tensor& d_out, Grads& grads) { grads.add(x, shifted_rows(d_out)); });
  return out;
}

}  // namespace npzoo
