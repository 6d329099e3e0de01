#pragma once

#include "datasets/task.h"

namespace npzoo {

/// Independent Gaussians, one for each channel of each target point.
struct Prediction {
  Tensor mean;  // (B, Nt, Dy)
  Tensor std;   // (B, Nt, Dy)
};

/// log p(y) of every point, summed over channels: (B, Nt), nats.
Tensor log_likelihood(const Prediction& prediction, const Tensor& y);

/// Mean negative log-likelihood over batch and points, nats; the training objective of the deterministic models. With
/// `weights` (B, Nt) the mean over the batch of each row's weighted mean.
Tensor nll(const Prediction& prediction, const Tensor& y, const Tensor& weights = {});

/// How a network's raw output becomes a standard deviation. `floor` is the least value.
struct StdForm {
  enum class Kind : std::uint8_t {
    exp,               // exp(s), no floor
    softplus,          // floor + (1 − floor) softplus(s)
    half_log_variance  // floor + (1 − floor) exp(s / 2)
  };
  Kind kind = Kind::exp;
  double floor = 0;
};

/// Splits raw (B, Nt, 2 Dy) into mean and standard deviation.
Prediction gaussian_head(const Tensor& raw, const StdForm& form);

}  // namespace npzoo
