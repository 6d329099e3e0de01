#include "npzoo/ops/mean_and_deviation/mean_and_deviation.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/mean_and_deviation/kernels.h"

namespace npzoo {

std::array<Tensor, 2> mean_and_deviation(const Tensor& raw, const DeviationForm& form) {
  check(raw.rank() >= 1 && raw.dim(-1) % 2 == 0, "[mean_and_deviation] raw is {}, expected (…, 2 D)", raw.shape());
  const std::int64_t rows = raw.shape().rows(), width = raw.dim(-1) / 2;
  const Shape half = raw.shape().with(-1, width);
  std::array<Tensor, 2> outs{Tensor::empty(half, raw.dtype(), raw.device()),
                             Tensor::empty(half, raw.dtype(), raw.device())};
  run("mean_and_deviation", raw, [&]<class T>(const Backend& device) {
    mean_and_deviation_forward<T>(device, {rows, width, form, raw.data<T>(), outs[0].data<T>(), outs[1].data<T>()});
  });
  record("mean_and_deviation", outs, {raw}, [raw, form, rows, width](std::span<const Tensor> d_outs, Grads& grads) {
    Tensor d_raw = Tensor::empty_like(raw);
    run("mean_and_deviation", raw, [&]<class T>(const Backend& device) {
      mean_and_deviation_backward<T>(
          device, {rows, width, form, raw.data<T>(), d_outs[0].data<T>(), d_outs[1].data<T>(), d_raw.data<T>()});
    });
    grads.add(raw, std::move(d_raw));
  });
  return outs;
}

}  // namespace npzoo
