#include "npzoo/ops/gaussian_log_density/gaussian_log_density.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/gaussian_log_density/kernels.h"

namespace npzoo {

namespace {

void check_gaussians(const Tensor& y, const Tensor& mean, const Tensor& std) {
  check(y.rank() >= 1, "[gaussian_log_density] y is a scalar, expected (…, D)");
  check(mean.shape() == y.shape() && std.shape() == y.shape(),
        "[gaussian_log_density] mean {} and std {} must have the shape of y {}", mean.shape(), std.shape(), y.shape());
  check(mean.dtype() == y.dtype() && std.dtype() == y.dtype(), "[gaussian_log_density] y is {}, mean {}, std {}",
        to_string(y.dtype()), to_string(mean.dtype()), to_string(std.dtype()));
}

Tensor room_for(const Tensor& x, const Grads& grads) { return grads.wants(x) ? Tensor::empty_like(x) : Tensor(); }

}  // namespace

Tensor gaussian_log_density(const Tensor& y, const Tensor& mean, const Tensor& std) {
  check_gaussians(y, mean, std);
  Tensor out = Tensor::empty(y.shape().without(-1), y.dtype(), y.device());
  run("gaussian_log_density", y, [&]<class T>(const Backend& device) {
    gaussian_log_density_forward<T>(
        device, {out.numel(), y.dim(-1), y.data<T>(), mean.data<T>(), std.data<T>(), out.data<T>()});
  });
  record("gaussian_log_density", out, {y, mean, std}, [y, mean, std](const Tensor& d_out, Grads& grads) {
    Tensor d_y = room_for(y, grads), d_mean = room_for(mean, grads), d_std = room_for(std, grads);
    run("gaussian_log_density", y, [&]<class T>(const Backend& device) {
      gaussian_log_density_backward<T>(device, {d_out.numel(), y.dim(-1), y.data<T>(), mean.data<T>(), std.data<T>(),
                                                d_out.data<T>(), d_y.data<T>(), d_mean.data<T>(), d_std.data<T>()});
    });
    grads.add(y, std::move(d_y));
    grads.add(mean, std::move(d_mean));
    grads.add(std, std::move(d_std));
  });
  return out;
}

}  // namespace npzoo
