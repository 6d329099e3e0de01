#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "npzoo/engine/cancellation.h"

namespace npzoo::python {

namespace nb = nanobind;

/// Stops a call of the library that runs without the interpreter's lock: after a signal whose handler raises, as
/// Ctrl-C does, or after a callback that raises.
class CallWatch {
 public:
  /// On the thread that makes the call.
  CallWatch() : caller_(std::this_thread::get_id()), asked_(Clock::now()) {}
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  /// Returns whether the call has to stop; can be called on any thread. The calling thread checks for signals every few
  /// milliseconds, with the interpreter's lock.
  bool stop();

  /// Calls `function(done, all)` with the lock, at most a hundred times a second and always when all is done. An
  /// exception stops the call. None: does nothing.
  std::function<void(std::int64_t done, std::int64_t all)> progress(nb::handle function);

  /// Runs `f` with the lock; an exception stops the call.
  template <class F>
  void run_locked(F&& f) {
    const nb::gil_scoped_acquire locked;
    if (!locked.is_valid() || failed_) return;
    try {
      f();
    } catch (nb::python_error& error) {
      fail(std::move(error));
    }
  }

  /// Raises the exception that stopped the call, if there is one. With the lock.
  void raise() {
    if (error_) throw std::move(*error_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void fail(nb::python_error error);

  const std::thread::id caller_;
  Clock::time_point asked_;  // the interpreter, by the calling thread
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::optional<nb::python_error> error_;
};

/// Runs `work()`, a call of the library, without the interpreter's lock, and returns its result. Ctrl-C ends it with
/// KeyboardInterrupt.
template <class F>
auto unlocked(CallWatch& watch, F&& work) {
  const auto run = [&] {
    const nb::gil_scoped_release released;
    const StopScope scope([&watch] { return watch.stop(); });
    return work();
  };
  try {
    if constexpr (std::is_void_v<decltype(run())>) {
      run();
      watch.raise();
    } else {
      auto result = run();
      watch.raise();
      return result;
    }
  } catch (const Interrupted&) {
    watch.raise();
    throw;
  }
}

template <class F>
auto unlocked(F&& work) {
  CallWatch watch;
  return unlocked(watch, std::forward<F>(work));
}

/// An object whose calls change it, and that threads share: they take turns.
template <class T>
class InTurns {
 public:
  explicit InTurns(T object) : object_(std::move(object)) {}

  /// Runs `work(object)` as `unlocked` does, when other threads have left the object. Ctrl-C ends the wait as well.
  template <class F>
  auto call(F&& work) {
    return unlocked([&] {
      std::unique_lock turn(*mutex_, std::defer_lock);
      while (!turn.try_lock_for(std::chrono::milliseconds(5))) throw_if_stopped();
      return work(object_);
    });
  }

 private:
  T object_;
  std::unique_ptr<std::timed_mutex> mutex_ = std::make_unique<std::timed_mutex>();  // it cannot be moved
};

}  // namespace npzoo::python
