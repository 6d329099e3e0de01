#pragma once

#include <memory>
#include <string>

#include "npzoo/models/model.h"
#include "npzoo/models/predictions/autoregressive.h"

namespace npzoo {

/// A model's own prediction of windows.
struct WindowForecast {
  std::unique_ptr<ContextState> state;
  std::unique_ptr<Prediction> prediction;
  const Autoregressive* sequence = nullptr;  // the prediction, if it predicts each target given those before it

  /// "one-shot", or "free-running" if the model conditions on values that it has sampled.
  const char* mode() const { return sequence ? "free-running" : "one-shot"; }
};

/// Predicts the targets `xt` (B, Nt, Dx) of each window given its context.
WindowForecast forecast_windows(const Model& model, const Context& context, const Tensor& xt, Draws& draws);

}  // namespace npzoo
