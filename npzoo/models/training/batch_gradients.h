#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "npzoo/engine/module.h"
#include "npzoo/engine/optim/optimiser.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/model.h"

namespace npzoo {

/// Loss and gradients of a batch that is worked through in parts, some tasks each. A part is recorded and played back
/// on one thread, while what it saved is still in that core's cache; threads meet once for each batch instead of once
/// for each operation. The parts depend on the extents of the task alone, so no bit depends on the number of threads.
class BatchGradients {
 public:
  /// The parameters must outlive it.
  explicit BatchGradients(std::vector<NamedParameter> parameters) : parameters_(std::move(parameters)) {}

  /// Returns the loss. Calls `beside` once meanwhile, on whichever thread has nothing better to do.
  /// Operations are added to `profile` where there is one.
  double compute(const Model& model, const Task& task, const Draws& draws, const std::function<void()>& beside = {},
                 Profile* profile = nullptr);

  /// Returns the gradients of the last `compute`.
  GradientParts parts() const { return grads_; }

 private:
  struct Part {
    Tape tape;
    Profile profile;
    double loss = 0;
  };

  /// Makes so many recordings ready, all of the parameters.
  void begin(std::int64_t parts);

  std::vector<NamedParameter> parameters_;
  std::vector<std::unique_ptr<Part>> parts_;  // kept for their tapes' memory
  std::vector<const Grads*> grads_;
};

}  // namespace npzoo
