#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "npzoo/engine/random.h"
#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Uses of a model's random numbers. Different purposes never share numbers. No purpose shares numbers with data,
/// initial weights or random features: the streams of those have a smaller first byte.
enum class Purpose : std::uint8_t { training = 0x80, evaluation, prediction };

class KeptDraws;

/// Random numbers of a model: a function of seed, purpose, step, number of the call, task in the batch, and sample.
/// Threads, parts of a batch, restarts and the device change none of them, and a larger number of samples contains a
/// smaller one. Philox in counter mode; the only state is the number of calls. A copy draws the same numbers again.
///
/// They are drawn on the host. For a step that is captured as a graph, see KeptDraws.
class Draws {
 public:
  /// `step` is the update in training, the batch in evaluation and prediction; below 2³².
  Draws(std::uint64_t seed, Purpose purpose, std::uint64_t step);
  /// Replaces random numbers by those of a recorded run, in the order of the calls: of the requested shapes, apart from
  /// extents of 1, for all tasks of the batch.
  static Draws recorded(std::vector<Tensor> in_order_of_calls);

  /// Returns the same draws; they also put each tensor into `notes`, the input of `recorded`, which must outlive all
  /// calls.
  Draws noted_in(std::vector<Tensor>& notes) const;

  /// Returns the draws of the tasks from number `first` on.
  Draws from(std::int64_t first) const;
  /// Returns the same draws in page-locked memory of `kept`, which must outlive all calls.
  Draws kept_in(KeptDraws& kept) const;

  /// Draws standard normal numbers, (samples, tasks, …each) on `device`. Like all calls it throws Error for more than
  /// 2²⁴ calls in a step, 2²⁰ tasks, 2¹⁶ samples of a task or 2²⁹ numbers in a sample (the other calls: 2²⁸), and if a
  /// recording has no such tensor.
  Tensor normal(std::int64_t samples, std::int64_t tasks, const Shape& each, DType dtype, Device device);
  /// Draws uniform numbers on [0, 1), in float32 rounded, shaped as normal.
  Tensor uniform(std::int64_t samples, std::int64_t tasks, const Shape& each, DType dtype, Device device);
  /// Draws uniform integers in [0, below(b)) for task b, (samples, tasks, n) int64 on the CPU, as indices of
  /// operations; 0 if there is no such integer. below (tasks) int64 on the CPU. Number i does not depend on n, so draws
  /// for real points do not depend on padding behind them.
  Tensor integers(std::int64_t samples, const Tensor& below, std::int64_t n);
  /// Returns the start of the stream for kernels that draw by themselves, for each task apart: (3) int64 on `device`,
  /// the bits of the RandomState of the first task. The next task's begins kBlocksOfATask further.
  Tensor generator(std::int64_t tasks, Device device);
  /// Computes integers from others on the host, such as lengths once for each sample, or which points to gather; int64
  /// on the CPU. Draws nothing, but a captured step calls `fill` again for each repetition, when the tensors that it
  /// read hold other numbers.
  Tensor derived(const Shape& shape, std::function<void(std::span<std::int64_t>)> fill);

  /// Returns the number of calls.
  std::int64_t calls() const { return calls_; }

 private:
  friend class KeptDraws;
  enum class Kind : std::uint8_t { normal, uniform, integers, generator, derived };
  /// All that a tensor is made from besides where the streams begin.
  struct Request {
    Kind kind;
    Shape shape;
    Tensor below{};
    std::function<void(std::span<std::int64_t>)> derive{};
  };
  Draws() = default;
  Tensor draw(const Request& request, DType dtype);
  Tensor draw_numbers(Kind kind, std::int64_t samples, std::int64_t tasks, const Shape& each, DType dtype);
  void fill(const Request& request, std::int64_t call, Tensor& out) const;
  void fill_recorded(std::int64_t call, Tensor& out) const;
  RandomState start(std::int64_t call, std::int64_t task, std::int64_t sample) const;

  std::uint64_t seed_ = 0, purpose_ = 0, step_ = 0;
  std::int64_t first_task_ = 0, calls_ = 0;
  std::int64_t kept_calls_ = 0;  // derived numbers included
  bool part_ = false;
  std::optional<std::vector<Tensor>> recorded_;
  KeptDraws* kept_ = nullptr;
  std::vector<Tensor>* notes_ = nullptr;
};

/// Random numbers of a step that is repeated as a graph. Its kernels read page-locked memory, which is refilled before
/// each launch.
class KeptDraws {
 public:
  /// Draws the numbers of the same calls from `draws`, those of a later step. Reads bounds of integers again, and
  /// recomputes derived integers.
  void refill(const Draws& draws);

 private:
  friend class Draws;
  struct Kept {
    Draws::Request request;
    std::int64_t call;
    Tensor numbers;
  };
  Tensor at(std::int64_t index, std::int64_t call, const Draws::Request& request, DType dtype, const Draws& draws);

  std::vector<Kept> kept_;  // in the order of the calls
};

}  // namespace npzoo
