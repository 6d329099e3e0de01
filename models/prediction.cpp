#include "models/prediction.h"

#include "ops/concat/concat.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gaussian_log_density/gaussian_log_density.h"
#include "ops/reduce/reduce.h"

namespace npzoo {

namespace {

Tensor standard_deviation(const Tensor& s, const StdForm& form) {
  switch (form.kind) {
    case StdForm::Kind::exp: return exp(s);
    case StdForm::Kind::softplus: return affine(softplus(s), 1 - form.floor, form.floor);
    case StdForm::Kind::half_log_variance: return affine(exp(affine(s, 0.5, 0)), 1 - form.floor, form.floor);
  }
  fail("[gaussian_head] unknown form of the standard deviation");
}

}  // namespace

Tensor log_likelihood(const Prediction& prediction, const Tensor& y) {
  return gaussian_log_density(y, prediction.mean, prediction.std);
}

Tensor nll(const Prediction& prediction, const Tensor& y, const Tensor& weights) {
  const Tensor ll = log_likelihood(prediction, y);  // (B, Nt)
  if (!weights.defined()) return affine(mean(ll), -1, 0);
  return affine(mean(div(sum(mul(ll, weights), -1), sum(weights, -1))), -1, 0);
}

Prediction gaussian_head(const Tensor& raw, const StdForm& form) {
  const std::int64_t dy = raw.dim(-1) / 2;
  const auto parts = split(raw, -1, {dy, dy});
  return {parts[0], standard_deviation(parts[1], form)};
}

}  // namespace npzoo
