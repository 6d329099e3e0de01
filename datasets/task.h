#pragma once

#include <cstdint>

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// A batch of regression tasks: the input of models and the output of datasets.
/// x and y are standardised as the protocol says; all have one floating dtype.
struct Task {
  Tensor xc;  // (B, Nc, Dx) context inputs
  Tensor yc;  // (B, Nc, Dy) context values
  Tensor xt;  // (B, Nt, Dx) target inputs
  Tensor yt;  // (B, Nt, Dy) target values
  /// (B) int64: number of leading context points of each row that are real; the rest is padding. Undefined: all of
  /// them.
  Tensor lengths{};
  /// The same for the targets. Windows of series and sequences of events have it in tests as well, others in training.
  Tensor target_lengths{};
  /// (B, Nt) and (B, Nc): weight of each point in a training loss, relative to the others of its row; 0 for padding.
  /// Undefined: all alike. Context weights are for losses that score the context as well.
  Tensor target_weights{}, context_weights{};
  /// (B): divisor of the weighted sum over a task's targets in a training loss, so that all points of a batch can count
  /// alike, whatever their task. Undefined: the sum of the task's weights.
  Tensor target_totals{};
  /// Statistics of the whole batch for models that work through a part of it (Model::prepared).
  Tensor batch_statistics{};

  /// Returns the task on a device; lengths stay on the CPU, where operations read them.
  Task to(Device device) const {
    return {xc.to(device),
            yc.to(device),
            xt.to(device),
            yt.to(device),
            lengths,
            target_lengths,
            target_weights.to(device),
            context_weights.to(device),
            target_totals.to(device),
            batch_statistics.to(device)};
  }
};

/// Returns (B, points) on the CPU: 1 for the first `lengths` points of each row, else 0.
Tensor real_points(const Tensor& lengths, std::int64_t points, DType dtype);

}  // namespace npzoo
