#pragma once

#include <algorithm>
#include <barrier>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "npzoo/engine/ranks/ranks.h"

namespace npzoo::testing {

/// Ranks that are threads of one process.
class ThreadRanks final : public Ranks {
 public:
  /// Memory that the threads share.
  struct Shared {
    explicit Shared(int size) : size(size), arrived(size) {}
    int size;
    std::barrier<> arrived;
    std::vector<std::byte> all;
    std::mutex mutex;
    std::map<std::pair<int, int>, int> marks;  // by sender and receiver
  };

  ThreadRanks(int rank, std::shared_ptr<Shared> shared) : Ranks(rank, shared->size), shared_(std::move(shared)) {}

  void gather(std::span<const std::byte> own, std::span<std::byte> all, const Meanwhile& meanwhile = {}) override {
    if (meanwhile) meanwhile();
    if (rank() == 0) shared_->all.resize(all.size());
    shared_->arrived.arrive_and_wait();
    std::ranges::copy(own, shared_->all.begin() + static_cast<std::ptrdiff_t>(own.size()) * rank());
    shared_->arrived.arrive_and_wait();
    std::ranges::copy(shared_->all, all.begin());
    shared_->arrived.arrive_and_wait();
  }
  void exchange(std::span<const std::byte> own, std::span<std::byte> blocks, const Meanwhile& meanwhile = {}) override {
    std::vector<std::byte> all(own.size() * static_cast<std::size_t>(size()));
    gather(own, all, meanwhile);
    const std::size_t block = own.size() / static_cast<std::size_t>(size());
    for (std::size_t from = 0; from < static_cast<std::size_t>(size()); ++from)
      std::ranges::copy(std::span(all).subspan(from * own.size() + static_cast<std::size_t>(rank()) * block, block),
                        blocks.begin() + static_cast<std::ptrdiff_t>(from * block));
  }
  void send_mark(int to) override {
    const std::lock_guard lock(shared_->mutex);
    ++shared_->marks[{rank(), to}];
  }
  bool take_mark(int from) override {
    const std::lock_guard lock(shared_->mutex);
    int& marks = shared_->marks[{from, rank()}];
    if (marks == 0) return false;
    --marks;
    return true;
  }

 private:
  std::shared_ptr<Shared> shared_;
};

/// Runs f(ranks) on `size` threads. Returns what each threw, null where nothing.
inline std::vector<std::exception_ptr> on_ranks(int size, const std::function<void(Ranks&)>& f) {
  const auto shared = std::make_shared<ThreadRanks::Shared>(size);
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadRanks ranks(rank, shared);
      try {
        f(ranks);
      } catch (...) {
        thrown[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

}  // namespace npzoo::testing
