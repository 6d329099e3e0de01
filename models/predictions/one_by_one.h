#pragma once

#include "npzoo/models/predictions/autoregressive.h"

namespace npzoo {

/// Predicts targets one after the other with any model: each given the context and the values of the targets before it,
/// which the model takes for context points. With a model that streams, each target is encoded once.
class OneByOne final : public Autoregressive {
 public:
  /// Arguments as in Autoregressive. Unlike other predictions it uses the model itself, which must outlive it.
  OneByOne(const Model& model, std::shared_ptr<const ContextState> state, Tensor xt, const Draws& draws,
           std::int64_t samples)
      : Autoregressive(std::move(state), std::move(xt), draws, samples, 1), model_(model) {}

 protected:
  std::unique_ptr<Prediction> next(const ContextState& state, const Tensor& xt) const override {
    return model_.query(state, xt);
  }
  std::unique_ptr<ContextState> after(const ContextState& state, const Context& observed) const override {
    return model_.update(state, observed);
  }

 private:
  const Model& model_;
};

}  // namespace npzoo
