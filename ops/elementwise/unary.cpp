#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/elementwise/kernels.h"

namespace npzoo {

namespace {

Tensor apply(const char* name, Unary function, bool saves_output, const Tensor& x) {
  Tensor y = Tensor::empty_like(x);
  run(name, x, [&]<class T>(const Backend& device) {
    unary_forward<T>(device, {function, x.numel(), x.data<T>(), y.data<T>()});
  });
  const Tensor saved = saves_output ? y : x;
  record(name, y, {x}, [name, x = x.symbol(), saved, function](const Tensor& d_y, Grads& grads) {
    Tensor d_x = Tensor::empty_like(d_y);
    run(name, saved, [&]<class T>(const Backend& device) {
      unary_backward<T>(device, {function, saved.numel(), saved.data<T>(), d_y.data<T>(), d_x.data<T>()});
    });
    grads.add(x, std::move(d_x));
  });
  return y;
}

constexpr bool is_output(char saved) { return saved == 'y'; }

}  // namespace

#define NPZOO_UNARY(name, value, saved, slope) \
  Tensor name(const Tensor& x) { return apply(#name, Unary::name, is_output(#saved[0]), x); }
#include "npzoo/ops/elementwise/table.def"
#undef NPZOO_UNARY

Tensor affine(const Tensor& x, double scale, double shift) {
  Tensor y = Tensor::empty_like(x);
  run("affine", x, [&]<class T>(const Backend& device) {
    affine<T>(device, {x.numel(), x.data<T>(), static_cast<T>(scale), static_cast<T>(shift), y.data<T>()});
  });
  record("affine", y, {x},
         [x = x.symbol(), scale](const Tensor& d_y, Grads& grads) { grads.add(x, affine(d_y, scale, 0)); });
  return y;
}

Tensor clamp(const Tensor& x, double low, double high) {
  check(low <= high, "[clamp] the limits {} and {} are in the wrong order", low, high);
  const auto kernel = [low, high](const Tensor& x, const Tensor& d_y) {
    Tensor y = Tensor::empty_like(x);
    run("clamp", x, [&]<class T>(const Backend& device) {
      clamp<T>(device, {x.numel(), x.data<T>(), static_cast<T>(low), static_cast<T>(high), d_y.data<T>(), y.data<T>()});
    });
    return y;
  };
  Tensor y = kernel(x, {});
  record("clamp", y, {x}, [x, kernel](const Tensor& d_y, Grads& grads) { grads.add(x, kernel(x, d_y)); });
  return y;
}

}  // namespace npzoo
