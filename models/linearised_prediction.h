#pragma once

#include <cstdint>
#include <memory>

#include "npzoo/engine/draws.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/model.h"

namespace npzoo {

/// Mean and standard deviation of each value, (B, Nt, Dy), recorded where a recording is on: those of the mixture, by
/// the law of total variance. Throws Error for marginals of logarithms.
Moments recorded_moments(const Marginals& marginals);

/// A prediction whose mean and standard deviation have gradients with respect to context and targets.
class LinearisedPrediction {
 public:
  /// The model must live as long as this. The context's padding must be cleared (clear_padding).
  LinearisedPrediction(const Model& model, Context context, Tensor xt, const Draws& draws,
                       std::int64_t samples = kSamples);
  LinearisedPrediction(LinearisedPrediction&&) noexcept = default;

  /// (B, Nt, Dy), in the model's dtype.
  const Moments& moments() const { return moments_; }

  struct Gradients {
    Tensor xc, yc, xt;
  };
  /// Turns gradients of a scalar with respect to mean and standard deviation (B, Nt, Dy) into those with respect to
  /// the inputs of the prediction. A second call predicts again first. Throws Error for other shapes.
  Gradients pull_back(const Tensor& d_mean, const Tensor& d_std);

 private:
  void record();

  const Model& model_;
  Context context_;
  Tensor xt_;
  Draws draws_;
  std::int64_t samples_;
  std::unique_ptr<Tape> tape_;
  Tensor out_;
  Moments moments_;
  bool played_ = false;
};

}  // namespace npzoo
