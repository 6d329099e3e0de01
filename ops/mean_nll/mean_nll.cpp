#include "npzoo/ops/mean_nll/mean_nll.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/mean_nll/kernels.h"

namespace npzoo {

namespace {

void check_constant(const char* name, const Tensor& x, const Shape& shape, DType dtype) {
  if (!x.defined()) return;
  check(x.shape() == shape && x.dtype() == dtype, "[mean_nll] {} are {} {}, expected {} {}", name, to_string(x.dtype()),
        x.shape(), to_string(dtype), shape);
  check(!needs_grad(x), "[mean_nll] {} of a recording found, expected constants: they have no gradient", name);
}

}  // namespace

Tensor mean_nll(const Tensor& log_likelihood, const Tensor& weights, const Tensor& totals) {
  const Shape& shape = log_likelihood.shape();
  check(shape.rank() >= 1, "[mean_nll] a scalar found, expected log-likelihoods (…, N)");
  check_constant("weights", weights, shape, log_likelihood.dtype());
  check_constant("totals", totals, shape.without(-1), log_likelihood.dtype());
  const std::int64_t rows = shape.rows(), width = log_likelihood.dim(-1);
  Tensor row_totals = Tensor::empty({rows}, DType::float64, log_likelihood.device());
  Tensor row_means = Tensor::empty_like(row_totals);
  Tensor out = Tensor::empty({}, log_likelihood.dtype(), log_likelihood.device());
  run("mean_nll", log_likelihood, [&]<class T>(const Backend& device) {
    mean_nll_forward<T>(device, {rows, width, log_likelihood.data<T>(), weights.data<T>(), totals.data<T>(),
                                 row_totals.data<double>(), row_means.data<double>(), out.data<T>()});
  });
  record("mean_nll", out, {log_likelihood},
         [x = log_likelihood.symbol(), weights, row_totals, rows, width](const Tensor& d_out, Grads& grads) {
           Tensor d_x = Tensor::empty_like(x);
           run("mean_nll", d_out, [&]<class T>(const Backend& device) {
             mean_nll_backward<T>(
                 device, {rows, width, weights.data<T>(), row_totals.data<double>(), d_out.data<T>(), d_x.data<T>()});
           });
           grads.add(x, std::move(d_x));
         });
  return out;
}

}  // namespace npzoo
