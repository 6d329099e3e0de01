#pragma once

#include <cstdint>

#include "datasets/task.h"

namespace npzoo {

/// An endless sequence of batches. Batch `index` depends on nothing but the source and `index`, so that batches can be
/// made in any order, by any number of threads, and training can resume anywhere.
class TaskSource {
 public:
  virtual ~TaskSource() = default;
  /// Called from several threads at once.
  virtual Task sample(std::uint64_t index) const = 0;
};

}  // namespace npzoo
