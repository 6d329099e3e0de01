#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace npzoo {

/// Rows that any thread may read while another one adds or removes some. A table of rows never changes and lives as
/// long as this, because readers hold spans of it: a change puts another table in its place.
template <class Row>
class SharedRows {
 public:
  explicit SharedRows(std::span<const Row> rows) : tables_(1, {rows.begin(), rows.end()}), now_(&tables_.back()) {}

  std::span<const Row> rows() const { return *now_.load(std::memory_order_acquire); }

  /// Calls `f` with a copy of the table, which becomes the table unless `f` throws.
  template <class F>
  void change(const F& f) {
    const std::lock_guard lock(writers_);
    std::vector<Row> next = tables_.back();
    f(next);
    now_.store(&tables_.emplace_back(std::move(next)), std::memory_order_release);
  }

 private:
  std::mutex writers_;
  std::deque<std::vector<Row>> tables_;  // guarded by writers_
  std::atomic<const std::vector<Row>*> now_;
};

}  // namespace npzoo
