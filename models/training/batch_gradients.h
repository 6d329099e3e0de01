#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "npzoo/engine/module.h"
#include "npzoo/engine/optim/optimiser.h"
#include "npzoo/engine/ranks/job.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/model.h"
#include "npzoo/models/training/part_exchange.h"

namespace npzoo {

/// Loss and gradients of a batch that is worked through in parts, some tasks each. A part is recorded and played back
/// on one thread, while what it saved is still in that core's cache; threads meet once for each batch instead of once
/// for each operation. The parts depend on the extents of the task alone, so no bit depends on the number of threads
/// or of ranks. On a CUDA device parts follow each other.
class BatchGradients {
 public:
  /// The parameters must outlive it, and the job, whose ranks share the parts of each batch among themselves; null:
  /// this process computes them all. A batch has so many `parts`, at most one for each task; with 0 their number is
  /// chosen by its size, and is 1 on a CUDA device. Models that need whole batches have one part.
  explicit BatchGradients(std::vector<NamedParameter> parameters, Job* job = nullptr, std::int64_t parts = 0)
      : parameters_(std::move(parameters)), job_(job != nullptr && job->size() > 1 ? job : nullptr), wanted_(parts) {
    if (job_ != nullptr) exchange_.emplace(*job_, parameters_);
  }
  BatchGradients(const BatchGradients&) = delete;
  BatchGradients& operator=(const BatchGradients&) = delete;

  /// Returns the loss. Calls `beside` once meanwhile, on whichever thread has nothing better to do.
  /// Operations are added to `profile` where there is one.
  double compute(const Model& model, const Task& task, const Draws& draws, const std::function<void()>& beside = {},
                 Profile* profile = nullptr);

  /// Returns the gradients of the last `compute`: those of its parts, or the sum of several parts.
  GradientParts parts() const { return grads_; }

 private:
  struct Part {
    Tape tape;
    Profile profile;
    double loss = 0;
  };

  /// Makes so many recordings ready, all of the parameters.
  void begin(std::int64_t parts);
  /// Waits for the other ranks, and takes over what they computed. `failure` is what ended this rank's part, if
  /// anything did; it ends the step on all ranks.
  void share(std::int64_t parts, const std::exception_ptr& failure);

  std::vector<NamedParameter> parameters_;
  Job* job_;
  std::int64_t wanted_;  // number of parts; 0: chosen by the size of the batch
  std::optional<PartExchange> exchange_;
  std::vector<std::unique_ptr<Part>> parts_;  // kept for their tapes' memory
  Tape sum_;                                  // receives the sum of the parts if ranks exchange slices
  std::vector<const Grads*> grads_;
};

}  // namespace npzoo
