#include "npzoo/models/training/device_step.h"

#include <algorithm>
#include <vector>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/cuda/transfer.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/reduce/reduce.h"

namespace npzoo {

namespace {

/// Those given, or all `points`.
void load_lengths(const Tensor& given, std::int64_t points, Tensor& padded) {
  const auto lengths = padded.values<std::int64_t>();
  if (given.defined())
    std::ranges::copy(given.values<std::int64_t>(), lengths.begin());
  else
    std::ranges::fill(lengths, points);
}

/// Adds what makes weights (B, N): 1 for the first `points`, or those given, and 0 for padding.
void add_weights(const Tensor& given, std::int64_t points, const Tensor& padded, std::vector<SliceToCopy>& slices) {
  slices.push_back({given, 1, 0, padded, points, 1});
  slices.push_back({{}, 1, points, padded, padded.dim(1) - points});
}

/// While it lives work is noted down instead of done. What was not ended is dropped, with its uploads.
class Capture {
 public:
  Capture() { gpu_runtime().begin_capture(); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    if (gpu_runtime().capturing()) gpu_runtime().abandon_capture();
    static_cast<void>(take_captured_uploads());
  }
};

}  // namespace

DeviceStep::~DeviceStep() { forget_graphs(); }

void DeviceStep::forget_graphs() {
  if (graphs_ == 0) return;
  gpu_runtime().synchronise();
  for (auto& [size, bucket] : buckets_) {
    bucket.graph.reset();
    bucket.uploads.clear();
  }
  count_graphs(static_cast<int>(-graphs_));
  graphs_ = 0;
}

std::int64_t DeviceStep::padded(std::int64_t points) {
  std::int64_t step = 16;  // sizes grow by an eighth to a quarter
  while (8 * step <= points) step *= 2;
  return (points + step - 1) / step * step;
}

DeviceStep::Bucket& DeviceStep::bucket_for(const Task& task) {
  const std::int64_t nc = padded(task.xc.dim(1)), nt = padded(task.xt.dim(1)), batch = task.xc.dim(0);
  Bucket& bucket = buckets_[{nc, nt}];
  Task& t = bucket.task;
  if (t.xc.defined()) {
    check(t.xc.dim(0) == batch, "[train] a batch of {} tasks found, expected {} as before", batch, t.xc.dim(0));
    return bucket;
  }
  const auto like = [](const Tensor& x, std::int64_t points) {
    return Tensor::zeros(x.shape().with(1, points), x.dtype(), x.device());
  };
  t = {like(task.xc, nc), like(task.yc, nc), like(task.xt, nt), like(task.yt, nt)};
  t.lengths = Tensor::pinned({batch}, DType::int64);
  t.target_lengths = Tensor::pinned({batch}, DType::int64);
  t.target_weights = Tensor::zeros({batch, nt}, task.xt.dtype(), task.xt.device());
  t.context_weights = Tensor::zeros({batch, nc}, task.xc.dtype(), task.xc.device());
  t.target_totals = Tensor::zeros({batch}, task.xt.dtype(), task.xt.device());
  bucket.host_loss = Tensor::pinned({}, task.xt.dtype());
  return bucket;
}

void DeviceStep::load(const Task& task, Bucket& bucket) {
  Task& padded = bucket.task;
  load_lengths(task.lengths, task.xc.dim(1), padded.lengths);
  load_lengths(task.target_lengths, task.xt.dim(1), padded.target_lengths);
  std::vector<SliceToCopy> slices{
      {task.xc, 1, 0, padded.xc}, {task.yc, 1, 0, padded.yc}, {task.xt, 1, 0, padded.xt}, {task.yt, 1, 0, padded.yt}};
  add_weights(task.target_weights, task.xt.dim(1), padded.target_weights, slices);
  add_weights(task.context_weights, task.xc.dim(1), padded.context_weights, slices);
  if (task.batch_statistics.defined()) {
    if (!padded.batch_statistics.defined()) padded.batch_statistics = Tensor::empty_like(task.batch_statistics);
    slices.push_back({task.batch_statistics, 0, 0, padded.batch_statistics});
  }
  const Tensor totals = task.target_totals.defined() || !task.target_weights.defined() ? task.target_totals
                                                                                       : sum(task.target_weights, -1);
  slices.push_back(
      {totals, 0, 0, padded.target_totals, padded.target_totals.dim(0), static_cast<double>(task.xt.dim(1))});
  copy_slices(slices);
}

void DeviceStep::run(Bucket& bucket, const Draws& draws, double clip_norm) {
  tape_.clear();
  for (const NamedParameter& p : optimiser_.parameters()) tape_.watch(p.parameter->value);
  Tensor loss;
  {
    const Recording on(tape_);
    Draws kept = draws.kept_in(bucket.draws);
    loss = model_.loss(bucket.task, kept);
  }
  const Grads* const grads = &tape_.backward(loss);
  const IgnoreStop whole;
  optimiser_.apply({&grads, 1}, clip_norm, loss);
  gpu_runtime().copy(bucket.host_loss.address(), loss.address(), loss.bytes());
  tape_.clear();
}

void DeviceStep::capture(Bucket& bucket, const Draws& draws, double clip_norm) {
  GpuRuntime& gpu = gpu_runtime();
  const GraphMemory room;
  const Capture capture;
  run(bucket, draws, clip_norm);
  bucket.graph = gpu.end_capture();
  bucket.uploads = take_captured_uploads();
  ++graphs_;
  count_graphs(1);
}

void DeviceStep::start(Bucket& bucket, const Draws& draws, double learning_rate, double clip_norm) {
  const std::int64_t steps_before = optimiser_.steps();
  try {
    optimiser_.begin_step(learning_rate);
    if (bucket.steps == 0) {
      run(bucket, draws, clip_norm);
    } else {
      const IgnoreStop whole;
      if (bucket.graph)
        bucket.draws.refill(draws);
      else
        capture(bucket, draws, clip_norm);
      bucket.graph->launch();
    }
  } catch (...) {
    optimiser_.set_steps(steps_before);
    try {
      gpu_runtime().synchronise();
    } catch (const Error&) {  // of what failed first
    }
    throw;
  }
  ++bucket.steps;
}

double DeviceStep::operator()(const Task& given, const Draws& draws, double learning_rate, double clip_norm,
                              const std::function<void()>& beside) {
  const Task task = model_.prepared(given, draws);
  Bucket& bucket = bucket_for(task);
  load(task, bucket);
  if (optimiser_.take_sole_ownership()) forget_graphs();
  start(bucket, draws, learning_rate, clip_norm);
  const auto finish = [&] {
    const IgnoreStop whole;
    optimiser_.end_step();
  };
  try {
    if (beside) beside();
  } catch (...) {
    finish();
    throw;
  }
  finish();
  return bucket.host_loss.item();
}

}  // namespace npzoo
