#include "datasets/loader.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/error.h"

namespace npzoo {

/// A ring of slots: batch i goes to slot i mod capacity. Workers claim indices in order, while there is a slot for
/// them.
class BatchLoader::Workers {
 public:
  Workers(const TaskSource& source, std::uint64_t first, int threads, std::size_t capacity)
      : source_(source), slots_(capacity), claimed_(first), delivered_(first) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this](std::stop_token stop) { work(stop); });
  }

  /// All are told to stop before the first is waited for.
  ~Workers() {
    for (std::jthread& thread : threads_) thread.request_stop();
  }

  Task take() {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[delivered_ % slots_.size()];
    filled_.wait(lock, [&slot] { return slot.task || slot.error; });
    if (slot.error) std::rethrow_exception(slot.error);
    Task task = std::move(*slot.task);
    slot = {};
    ++delivered_;
    room_.notify_one();
    return task;
  }

 private:
  struct Slot {
    std::optional<Task> task;
    std::exception_ptr error;
  };

  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (room_.wait(lock, stop, [this] { return claimed_ < delivered_ + slots_.size(); }) && !stop.stop_requested()) {
      const std::uint64_t index = claimed_++;
      lock.unlock();
      Slot made = make(index);
      lock.lock();
      slots_[index % slots_.size()] = std::move(made);
      filled_.notify_one();
    }
  }

  Slot make(std::uint64_t index) const {
    try {
      return {source_.sample(index), nullptr};
    } catch (...) {
      return {std::nullopt, std::current_exception()};
    }
  }

  const TaskSource& source_;
  std::mutex mutex_;
  std::condition_variable_any room_;
  std::condition_variable filled_;
  std::vector<Slot> slots_;
  std::uint64_t claimed_, delivered_;
  std::vector<std::jthread> threads_;
};

BatchLoader::BatchLoader(const TaskSource& source, std::uint64_t first, int threads, int capacity)
    : source_(source), position_(first) {
  check(threads >= 0 && capacity >= 0, "[loader] {} threads and a capacity of {}, expected 0 or more", threads,
        capacity);
  const int slots = capacity > 0 ? capacity : 2 * threads;
  if (threads > 0) workers_ = std::make_unique<Workers>(source, first, threads, slots);
}

BatchLoader::~BatchLoader() = default;

Task BatchLoader::next() {
  Task task = workers_ ? workers_->take() : source_.sample(position_);
  ++position_;
  return task;
}

}  // namespace npzoo
