#pragma once

#include "npzoo/engine/init.h"
#include "npzoo/engine/module.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"

namespace npzoo {

struct RandomFeatureConfig {
  std::int64_t count = 64;  // features of each head
  FeatureNorms norms = FeatureNorms::fixed;
  Stabiliser stabiliser = Stabiliser::none;
  std::int64_t redraw_every = 0;  // training steps; 0: never
};

/// The random projection of a linear attention: not trained, but part of the weights. The features of a training step
/// are a function of the seed and the step, so a resumed run continues with the same features.
class RandomFeatures {
 public:
  /// For heads of `width` channels.
  RandomFeatures(const RandomFeatureConfig& config, std::int64_t width, Initializer& init);

  /// Redraws the features if the schedule says so. Call it before each training step.
  void begin_step(std::int64_t step);

  Stabiliser stabiliser() const { return config_.stabiliser; }

  void visit(ModuleVisitor& visitor) { visitor("projection", projection); }

  Parameter projection;  // (features, width), not trained

 private:
  Tensor draw(std::int64_t number) const;

  RandomFeatureConfig config_;
  std::int64_t width_;
  RandomState start_;
};

}  // namespace npzoo
