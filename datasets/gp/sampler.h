#pragma once

#include <cstdint>
#include <vector>

#include "datasets/gp/distribution.h"
#include "datasets/task.h"
#include "engine/device.h"

namespace npzoo {

/// What batches are for. Splits never share random numbers, even under one seed, nor do they share any with a
/// `Random(seed)` that initialises weights.
enum class Split : std::uint8_t { training = 1, validation, evaluation };

/// A batch together with what made it: all that an exact posterior needs.
struct GpBatch {
  Task task;                    // Dy = 1; `lengths` is defined where the distribution is ragged
  std::vector<Kernel> kernels;  // (B)
  double context_noise = 0;     // standard deviations
  double target_noise = 0;
};

/// Draws batches of Gaussian-process tasks in double precision; batch `index` is a function of distribution, batch
/// size, seed, split and index alone, and may be drawn on several threads at once. Context points are the leading ones
/// of independent, identically distributed locations, so their order means nothing; rows of a ragged batch are padded
/// with zeros.
///
/// On a CUDA device a batch is the same up to rounding. It is drawn there, without waiting, by one thread at a time;
/// the host draws the numbers of points and the kernels. A covariance that is not positive definite, for which the CPU
/// throws Error, gives values that are NaN.
class GpSampler {
 public:
  /// Tensors of tasks live on `device`, but `lengths` on the CPU. Throws Error where the distribution cannot be drawn
  /// from.
  GpSampler(GpDistribution distribution, std::int64_t batch_size, std::uint64_t seed, Split split,
            DType dtype = DType::float32, Device device = Device::cpu);

  Task sample(std::uint64_t index) const { return batch(index).task; }
  GpBatch batch(std::uint64_t index) const;

  const GpDistribution& distribution() const { return distribution_; }
  Device device() const { return device_; }

 private:
  GpDistribution distribution_;
  std::int64_t batch_size_;
  std::uint64_t seed_;
  Split split_;
  DType dtype_;
  Device device_;
};

}  // namespace npzoo
