#pragma once

#include <map>
#include <utility>

#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/training/training_step.h"

namespace npzoo {

/// Updates of a model on a CUDA device. A step of a small model is some hundred kernels that take less time than their
/// launches, so it is captured as a graph and launched as one. A graph has fixed extents: tasks are padded to the next
/// of a few sizes, with lengths and weights that leave the loss and its gradients what they were, and each size has its
/// graph. The first step of a size is done kernel by kernel, the second one is captured. Where somebody else holds a
/// parameter's tensor, it stays as it is for them: the parameter gets a copy, and graphs are captured anew.
class DeviceStep final : public TrainingStep {
 public:
  /// They must outlive it.
  DeviceStep(Model& model, Optimiser& optimiser) : model_(model), optimiser_(optimiser) {}
  DeviceStep(const DeviceStep&) = delete;
  DeviceStep& operator=(const DeviceStep&) = delete;
  ~DeviceStep() override;

  /// The update is made even if `beside` throws.
  double operator()(const Task& task, const Draws& draws, double learning_rate, double clip_norm,
                    const std::function<void()>& beside = {}) override;

  /// Graphs there are.
  std::int64_t graphs() const { return graphs_; }

  /// The extent that `points` are padded to.
  static std::int64_t padded(std::int64_t points);

 private:
  /// Arrays from which the steps of one size read their batch and to which they write their loss.
  struct Bucket {
    Task task;         // padded; its lengths are page-locked
    Tensor host_loss;  // page-locked
    KeptDraws draws;   // that the graph reads
    std::unique_ptr<GpuGraph> graph;
    std::vector<Buffer> uploads;  // that the graph repeats
    std::int64_t steps = 0;
  };

  Bucket& bucket_for(const Task& task);
  static void load(const Task& task, Bucket& bucket);
  /// Hands the device an update, as kernels or as a graph.
  void start(Bucket& bucket, const Draws& draws, double learning_rate, double clip_norm);
  void run(Bucket& bucket, const Draws& draws, double clip_norm);
  void capture(Bucket& bucket, const Draws& draws, double clip_norm);
  void forget_graphs();

  Model& model_;
  Optimiser& optimiser_;
  Tape tape_;
  std::map<std::pair<std::int64_t, std::int64_t>, Bucket> buckets_;  // by context and target points
  std::int64_t graphs_ = 0;
};

}  // namespace npzoo
