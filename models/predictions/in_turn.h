#pragma once

#include <memory>

#include "npzoo/models/model.h"

namespace npzoo {

/// A model that predicts targets one after the other by means of its own. Joint densities and samples then cost less
/// than an encoding of each target.
class PredictsInTurn {
 public:
  virtual ~PredictsInTurn() = default;

  /// Returns the prediction of targets xt (B, Nt, Dx) in their order, or null if the model has no such means in this
  /// configuration. `draws` and `samples` as in Model::condition. Throws Error for the state of another kind of model.
  virtual std::unique_ptr<Prediction> in_turn(const ContextState& state, const Tensor& xt, const Draws& draws,
                                              std::int64_t samples) const = 0;
};

}  // namespace npzoo
