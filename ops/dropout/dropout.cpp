#include "ops/dropout/dropout.h"

#include "engine/backend.h"
#include "engine/cuda/gpu.h"
#include "engine/tape.h"
#include "ops/dropout/kernels.h"

namespace npzoo {

namespace {

Tensor masked(const Tensor& x, double p, const RandomState& state) {
  const auto threshold = static_cast<std::uint32_t>(p * 0x1p32);
  Tensor out = Tensor::empty_like(x);
  run(x, [&]<class T>(auto& device) {
    dropout<T>(device, {x.numel(), threshold, static_cast<T>(1 / (1 - p)), state, x.data<T>(), out.data<T>()});
  });
  return out;
}

}  // namespace

Tensor dropout(const Tensor& x, double p, Random& random) {
  check(x.device() == Device::cpu || !gpu_runtime().capturing(),
        "[dropout] a captured step would drop the same elements at every launch");
  check(0 <= p && p < 1, "[dropout] p is {}, expected in [0, 1)", p);
  if (p == 0) return x;
  const RandomState state = random.reserve(static_cast<std::uint64_t>(x.numel() + 3) / 4);
  Tensor out = masked(x, p, state);
  record("dropout", out, {x},
         [x = x.symbol(), p, state](const Tensor& d_out, Grads& grads) { grads.add(x, masked(d_out, p, state)); });
  return out;
}

}  // namespace npzoo
