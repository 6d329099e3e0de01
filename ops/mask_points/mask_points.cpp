#include "npzoo/ops/mask_points/mask_points.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/mask_points/kernels.h"
#include "npzoo/ops/mask_points/lengths.h"

namespace npzoo {

namespace {

/// `lengths` are where x is.
Tensor masked(const Tensor& x, const Tensor& lengths) {
  Tensor out = Tensor::empty_like(x);
  run("mask_points", x, [&]<class T>(const Backend& device) {
    mask_points<T>(device, {x.dim(0), x.dim(1), x.dim(2), lengths.data<std::int64_t>(), x.data<T>(), out.data<T>()});
  });
  return out;
}

}  // namespace

Tensor mask_points(const Tensor& x, const Tensor& lengths) {
  check(x.rank() == 3, "[mask_points] x is {}, expected (B, N, D)", x.shape());
  check_lengths("mask_points", x, lengths);
  const Tensor there = lengths.to(x.device());
  Tensor out = masked(x, there);
  record("mask_points", out, {x}, [x = x.symbol(), lengths = there](const Tensor& d_out, Grads& grads) {
    grads.add(x, masked(d_out, lengths));
  });
  return out;
}

}  // namespace npzoo
