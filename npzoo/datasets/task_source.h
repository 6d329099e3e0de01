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

/// What batches are for. Splits never share random numbers, even under one seed, nor do they share any with a
/// `Random(seed)` that initialises weights.
enum class Split : std::uint8_t { training = 1, validation, evaluation };

/// Means and standard deviations of the values at a row of inputs.
struct Curve {
  std::vector<double> mean, std;  // (n, Dy)
};

/// The distribution that the targets of a batch were drawn from, where it is known: what no model beats on average.
class Truth {
 public:
  virtual ~Truth() = default;

  /// What figures and curves call it, "exact GP".
  virtual std::string name() const = 0;
  /// Of each task's target values given its context, in nats, the sum over its targets: (B). What is true is as good as
  /// any mixture. None where it says nothing, as the joint density of values that determine each other.
  virtual std::optional<std::vector<double>> log_likelihood(const Task& task, Density density) const = 0;
  /// Of values observed at `x` (n, Dx) given the context of one row; none where there is no curve to be drawn.
  virtual std::optional<Curve> curve(const Task& /*task*/, std::int64_t /*row*/, std::span<const double> /*x*/) const {
    return {};
  }
};

/// Mean over the tasks of `truth.log_likelihood`, in nats per target point.
std::optional<double> mean_log_likelihood(const Truth& truth, const Task& task, Density density);

struct Batch {
  Task task;
  std::shared_ptr<const Truth> truth{};  // null where it is not known
};

/// Where batches of tasks come from. Batch `index` is a function of source, seed, split and index alone.
///
/// Tensors of tasks live on `device`, but lengths on the CPU. On the CPU batches may be asked for on several threads at
/// once, in any order; on a CUDA device by one thread at a time.
class TaskSource {
 public:
  virtual ~TaskSource() = default;

  virtual Batch batch(std::uint64_t index) const = 0;
  Task task(std::uint64_t index) const { return batch(index).task; }
  /// Batches after which a finite test set has been seen once; none where they never end.
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
