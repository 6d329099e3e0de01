#include "npzoo/models/linearised_prediction.h"

#include <utility>

#include "npzoo/engine/error.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

Moments recorded_moments(const Marginals& m) {
  check_gaussian(m, "moments");
  check(m.scale == Scale::linear, "[moments] the model predicts logarithms of values, expected a model of values");
  const Shape values = m.mean.shape().without(0);
  if (m.mean.dim(0) == 1) return {reshape(m.mean, values), reshape(m.std, values)};
  const auto average = [&](const Tensor& x) {
    if (!m.log_weight.defined()) return mean(x, 0);
    return sum(mul(x, reshape(exp(m.log_weight), m.mean.shape().with(3, 1))), 0);
  };
  const Tensor middle = average(m.mean);
  const Tensor distance = sub(m.mean, reshape(middle, m.mean.shape().with(0, 1)));
  return {middle, sqrt(average(add(square(m.std), square(distance))))};
}

LinearisedPrediction::LinearisedPrediction(const Model& model, Context context, Tensor xt, const Draws& draws,
                                           std::int64_t samples)
    : model_(model), context_(std::move(context)), xt_(std::move(xt)), draws_(draws), samples_(samples) {
  record();
}

LinearisedPrediction::Gradients LinearisedPrediction::pull_back(const Tensor& d_mean, const Tensor& d_std) {
  for (const Tensor* d : {&d_mean, &d_std})
    check(d->shape() == moments_.mean.shape(), "[pull_back] gradients of shape {} found, expected {}", d->shape(),
          moments_.mean.shape());
  if (played_) record();
  played_ = true;
  const auto flat = [](const Tensor& t) { return t.view({t.numel()}); };
  const Grads& grads = tape_->backward(out_, concat({flat(d_mean), flat(d_std)}, 0));
  return {grads.of(context_.xc), grads.of(context_.yc), grads.of(xt_)};
}

void LinearisedPrediction::record() {
  tape_ = std::make_unique<Tape>();
  for (Tensor* leaf : {&context_.xc, &context_.yc, &xt_}) {
    *leaf = leaf->detach();
    tape_->watch(*leaf);
  }
  const Recording on(*tape_);
  Draws same = draws_;
  const auto state = model_.condition(context_, same, samples_);
  const Moments recorded = recorded_moments(model_.query(*state, xt_)->marginals());
  const auto flat = [](const Tensor& t) { return reshape(t, {t.numel()}); };
  out_ = concat({flat(recorded.mean), flat(recorded.std)}, 0);
  moments_ = {recorded.mean.detach().clone(), recorded.std.detach().clone()};
  played_ = false;
}

}  // namespace npzoo
