#include "models/model.h"

#include "engine/error.h"
#include "ops/concat/concat.h"

namespace npzoo {

std::unique_ptr<ContextState> Model::update(const ContextState& state, const Context& more) const {
  const Context& old = state.context;
  check(!old.lengths.defined() && !more.lengths.defined(), "[update] padded contexts cannot be extended");
  return condition({concat({old.xc, more.xc}, 1), concat({old.yc, more.yc}, 1), {}});
}

Prediction Model::predict(const Task& task) const {
  return query(*condition({task.xc, task.yc, task.lengths}), task.xt);
}

Tensor Model::loss(const Task& task) const { return nll(predict(task), task.yt); }

}  // namespace npzoo
