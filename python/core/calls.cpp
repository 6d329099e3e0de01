#include "python/core/calls.h"

namespace npzoo::python {

namespace {

constexpr std::chrono::milliseconds kBetweenQuestions{10}, kBetweenReports{10};

}  // namespace

bool CallWatch::stop() {
  if (failed_.load(std::memory_order_relaxed)) return true;
  if (std::this_thread::get_id() != caller_) return false;
  const Clock::time_point now = Clock::now();
  if (now - asked_ < kBetweenQuestions) return false;
  run_locked([] {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  });
  asked_ = Clock::now();
  return failed_.load(std::memory_order_relaxed);
}

void CallWatch::fail(nb::python_error error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_.emplace(std::move(error));
  failed_.store(true, std::memory_order_relaxed);
}

std::function<void(std::int64_t, std::int64_t)> CallWatch::progress(nb::handle function) {
  if (function.is_none()) return {};
  return [this, function, last = Clock::time_point()](std::int64_t done, std::int64_t all) mutable {
    const Clock::time_point now = Clock::now();
    if (done < all && now - last < kBetweenReports) return;
    last = now;
    run_locked([&] { function(done, all); });
  };
}

}  // namespace npzoo::python
