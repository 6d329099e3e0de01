#include "npzoo/models/applications/forecasts/window_forecast.h"

namespace npzoo {

WindowForecast forecast_windows(const Model& model, const Context& context, const Tensor& xt, Draws& draws) {
  WindowForecast forecast{.state = model.condition(context, draws, kSamples), .prediction = nullptr};
  forecast.prediction = model.query(*forecast.state, xt);
  forecast.sequence = dynamic_cast<const Autoregressive*>(forecast.prediction.get());
  return forecast;
}

}  // namespace npzoo
