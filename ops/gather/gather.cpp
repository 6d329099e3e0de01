#include "npzoo/ops/gather/gather.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/gather/kernels.h"

namespace npzoo {

namespace {

void check_index(const Tensor& x, const Tensor& index) {
  check(x.rank() == 3, "[gather] x is {}, expected (B, N, D)", x.shape());
  check(index.dtype() == DType::int64 && index.rank() == 2 && index.dim(0) == x.dim(0),
        "[gather] index is {} {}, expected int64 ({}, K) for x {}", to_string(index.dtype()), index.shape(), x.dim(0),
        x.shape());
  const std::int64_t points = x.dim(1), picks = index.dim(1);
  std::int64_t position = 0;
  for (std::int64_t point : index.values<std::int64_t>()) {
    check(0 <= point && point < points, "[gather] index ({}, {}) is {}, expected in [0, {})", position / picks,
          position % picks, point, points);
    ++position;
  }
}

}  // namespace

Tensor gather(const Tensor& x, const Tensor& index) {
  check_index(x, index);
  const std::int64_t batch = x.dim(0), points = x.dim(1), picks = index.dim(1), width = x.dim(2);
  const Tensor there = index.to(x.device());
  Tensor out = Tensor::empty({batch, picks, width}, x.dtype(), x.device());
  run("gather", x, [&]<class T>(const Backend& device) {
    gather_forward<T>(device, {batch, points, picks, width, x.data<T>(), there.data<std::int64_t>(), out.data<T>()});
  });
  record("gather", out, {x}, [x = x.symbol(), index = there](const Tensor& d_out, Grads& grads) {
    run("gather", d_out, [&]<class T>(const Backend& device) {
      auto [d_x, accumulate] = grads.into(x);
      gather_backward<T>(device, {x.dim(0), x.dim(1), index.dim(1), x.dim(2), index.data<std::int64_t>(),
                                  d_out.data<T>(), d_x.template data<T>(), accumulate});
    });
  });
  return out;
}

}  // namespace npzoo
