#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/scores.h"
#include "npzoo/datasets/task.h"

namespace npzoo {

/// Uses of batches. Splits never share random numbers, even under one seed, nor do they share any with a `Random(seed)`
/// that initialises weights.
enum class Split : std::uint8_t { training = 1, validation, evaluation };

/// Means and standard deviations of the values at a row of inputs.
struct Curve {
  std::vector<double> mean, std;  // (n, Dy)
};

/// The distribution that the targets of a batch were drawn from, if it is known: what no model beats on average.
class Truth {
 public:
  virtual ~Truth() = default;

  /// Returns its name in figures and curves, such as "exact GP".
  virtual std::string name() const = 0;
  /// Returns the log-likelihood of each task's target values given its context, in nats, summed over its targets: (B).
  /// The truth is at least as good as any mixture. None if there is no such density, as the joint density of values
  /// that determine each other.
  virtual std::optional<std::vector<double>> log_likelihood(const Task& task, Density density) const = 0;
  /// Returns the curve of values observed at `x` (n, Dx) given the context of one row; none if there is no curve to
  /// draw.
  virtual std::optional<Curve> curve(const Task& /*task*/, std::int64_t /*row*/, std::span<const double> /*x*/) const {
    return {};
  }
};

/// Mean over the tasks of `truth.log_likelihood`, in nats per target point.
std::optional<double> mean_log_likelihood(const Truth& truth, const Task& task, Density density);

struct Batch {
  Task task;
  std::shared_ptr<const Truth> truth{};  // null if it is not known
};

/// A source of batches of tasks. Batch `index` is a function of source, seed, split and index alone.
///
/// Tensors of tasks live on `device`, but lengths on the CPU. On the CPU several threads may ask for batches at once,
/// in any order; on a CUDA device one thread at a time.
class TaskSource {
 public:
  virtual ~TaskSource() = default;

  virtual Batch batch(std::uint64_t index) const = 0;
  Task task(std::uint64_t index) const { return batch(index).task; }
  /// Batches after which a finite test set has been seen once; none if they never end.
  virtual std::optional<std::int64_t> size() const { return {}; }
  virtual Device device() const = 0;
};

/// How many of `wanted` batches there are.
inline std::int64_t batches_of(const TaskSource& source, std::int64_t wanted) {
  return std::min(wanted, source.size().value_or(wanted));
}

struct SourceOptions {
  std::int64_t batch_size = 0;
  std::uint64_t seed = 0;
  Split split = Split::training;
  DType dtype = DType::float32;
  Device device = Device::cpu;
};

}  // namespace npzoo
