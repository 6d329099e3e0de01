#pragma once

#include <string>

#include "npzoo/datasets/model_config.h"
#include "npzoo/engine/draws.h"
#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Dropout on a walk through a network in training; as it is made, there is none.
struct Dropping {
  double share = 0;
  Draws* draws = nullptr;
  /// So many points in front are dropped by themselves: then padding behind them changes nothing of the others.
  std::int64_t apart = 0;

  /// x (B, N, D). Draws nothing where `share` is 0.
  Tensor operator()(const Tensor& x) const;
};

/// Reads `dropout`, 0 if it is not given. Throws Error, opened by `model`, unless it is at least 0 and less than 1.
double read_dropout(ConfigReader& reader);

}  // namespace npzoo
