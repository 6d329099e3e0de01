#include "models/model.h"

#include "engine/error.h"
#include "ops/concat/concat.h"
#include "ops/gather/gather.h"

namespace npzoo {

Context clear_padding(const Context& context) {
  if (!context.lengths.defined()) return context;
  const std::int64_t batch = context.xc.dim(0), nc = context.xc.dim(1);
  check(context.lengths.shape() == Shape{batch}, "[context] lengths {} found, expected {} of them",
        context.lengths.shape(), batch);
  Tensor index = Tensor::empty({batch, nc}, DType::int64);  // padding takes the point behind the last, a zero
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = 0, n = context.lengths.data<std::int64_t>()[b]; i < nc; ++i)
      index.data<std::int64_t>()[b * nc + i] = i < n ? i : nc;
  const auto cleared = [&](const Tensor& points) {
    return gather(concat({points, Tensor::zeros({batch, 1, points.dim(2)}, points.dtype())}, 1), index);
  };
  return {cleared(context.xc), cleared(context.yc), context.lengths};
}

std::unique_ptr<ContextState> Model::update(const ContextState& state, const Context& more) const {
  const auto* held = dynamic_cast<const HeldContext*>(&state);
  check(held != nullptr, "[update] the state comes from another kind of model");
  const Context& old = held->context;
  check(!old.lengths.defined() && !more.lengths.defined(), "[update] padded contexts cannot be extended");
  return condition({concat({old.xc, more.xc}, 1), concat({old.yc, more.yc}, 1), {}});
}

Prediction Model::predict(const Task& task) const {
  return query(*condition({task.xc, task.yc, task.lengths}), task.xt);
}

Tensor Model::loss(const Task& task) const { return nll(predict(task), task.yt); }

}  // namespace npzoo
