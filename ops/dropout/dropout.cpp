#include "npzoo/ops/dropout/dropout.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/dropout/kernels.h"

namespace npzoo {

namespace {

Tensor masked(const Tensor& x, double p, const Tensor& generator) {
  const auto threshold = static_cast<std::uint32_t>(p * 0x1p32);
  Tensor out = Tensor::empty_like(x);
  if (x.numel() == 0) return out;
  run("dropout", x, [&]<class T>(const Backend& device) {
    dropout<T>(device, {x.dim(0), x.numel() / x.dim(0), threshold, static_cast<T>(1 / (1 - p)),
                        generator.data<std::int64_t>(), x.data<T>(), out.data<T>()});
  });
  return out;
}

}  // namespace

Tensor dropout(const Tensor& x, double p, Draws& draws) {
  check(0 <= p && p < 1, "[dropout] p is {}, expected in [0, 1)", p);
  if (p == 0) return x;
  const Tensor generator = draws.generator(x.dim(0), x.device());
  Tensor out = masked(x, p, generator);
  record("dropout", out, {x}, [x = x.symbol(), p, generator](const Tensor& d_out, Grads& grads) {
    grads.add(x, masked(d_out, p, generator));
  });
  return out;
}

}  // namespace npzoo
