#pragma once

#include <cstdint>
#include <memory>

#include "datasets/task_source.h"

namespace npzoo {

/// Hands out the batches first, first + 1, … of a source, made ahead of time by background threads.
/// What is delivered does not depend on `threads`; 0 makes each batch when it is asked for. The source must outlive the
/// loader.
class BatchLoader {
 public:
  /// At most `capacity` batches wait or are in the making. 0 stands for two per thread.
  BatchLoader(const TaskSource& source, std::uint64_t first, int threads, int capacity = 0);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  /// The batch at `position()`, which then moves on by one. Rethrows what the source threw while making it, and stays.
  Task next();
  /// Index of the batch that `next` will deliver: a loader that starts there goes on where this one stands.
  std::uint64_t position() const { return position_; }

 private:
  class Workers;

  const TaskSource& source_;
  std::uint64_t position_;
  std::unique_ptr<Workers> workers_;
};

}  // namespace npzoo
