#include "npzoo/ops/lower_triangle/lower_triangle.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/lower_triangle/kernels.h"

namespace npzoo {

namespace {

void check_square(const Tensor& x, const Tensor& diagonal) {
  check(x.rank() == 3 && x.dim(1) == x.dim(2), "[lower_triangle] x is {}, expected (B, M, M)", x.shape());
  if (!diagonal.defined()) return;
  check(diagonal.shape() == Shape{x.dim(0), x.dim(1)}, "[lower_triangle] diagonal {} does not fit x {}, expected {}",
        diagonal.shape(), x.shape(), Shape{x.dim(0), x.dim(1)});
  check(diagonal.dtype() == x.dtype(), "[lower_triangle] x is {}, diagonal {}", to_string(x.dtype()),
        to_string(diagonal.dtype()));
}

}  // namespace

Tensor lower_triangle(const Tensor& x, const Tensor& diagonal) {
  check_square(x, diagonal);
  Tensor out = Tensor::empty_like(x);
  run("lower_triangle", x, [&]<class T>(const Backend& device) {
    lower_triangle_forward<T>(device, {x.dim(0), x.dim(1), x.data<T>(), diagonal.data<T>(), out.data<T>()});
  });
  record("lower_triangle", out, {x, diagonal},
         [x = x.symbol(), diagonal = diagonal.symbol(), own_diagonal = !diagonal.defined()](const Tensor& d_out,
                                                                                            Grads& grads) {
           Tensor d_x, d_diagonal;
           if (grads.wants(x)) d_x = Tensor::empty_like(d_out);
           if (grads.wants(diagonal))
             d_diagonal = Tensor::empty({d_out.dim(0), d_out.dim(1)}, d_out.dtype(), d_out.device());
           run("lower_triangle", d_out, [&]<class T>(const Backend& device) {
             lower_triangle_backward<T>(device, {d_out.dim(0), d_out.dim(1), own_diagonal, d_out.data<T>(),
                                                 d_x.data<T>(), d_diagonal.data<T>()});
           });
           grads.add(x, std::move(d_x));
           grads.add(diagonal, std::move(d_diagonal));
         });
  return out;
}

}  // namespace npzoo
