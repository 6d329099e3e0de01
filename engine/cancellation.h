#pragma once

#include <functional>
#include <stop_token>

#include "npzoo/engine/exception.h"

namespace npzoo {

/// Thrown by a call that was asked to stop. The call has left nothing half-done and can be repeated.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// Lets a caller stop the work of the calling thread, and of the workers that help with its loops, until the scope
/// ends. Loops of the library look at it several times a second and throw Interrupted after a stop was requested.
/// Scopes may be nested: a request of any of them counts.
class StopScope {
 public:
  explicit StopScope(std::stop_token token);
  /// Calls `requested` to learn whether to stop, on any thread that does work and on several at a time. For callers
  /// that have no stop token, such as an interpreter that must be asked. It must not throw.
  explicit StopScope(std::function<bool()> requested);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  friend bool stop_requested();

  std::stop_token token_;
  std::function<bool()> requested_;
  const StopScope* outer_;
};

/// While alive, stop requests do not reach the calling thread: for work that must not be half-done, such as the update
/// of all parameters.
class IgnoreStop {
 public:
  IgnoreStop();
  ~IgnoreStop();
  IgnoreStop(const IgnoreStop&) = delete;
  IgnoreStop& operator=(const IgnoreStop&) = delete;

 private:
  const StopScope* hidden_;
};

/// True if a stop may be requested from the calling thread: it has a scope. Work that waits must look from time to
/// time.
bool stop_possible();
/// True after a stop was requested from one of the calling thread's scopes.
bool stop_requested();
/// Throws Interrupted after a stop was requested from one of the calling thread's scopes.
void throw_if_stopped();
/// The same at every 65536th call of a thread, for loops of very short steps.
inline void poll_stop() {
  thread_local unsigned calls = 0;
  if (++calls % (1 << 16) == 0) throw_if_stopped();
}

}  // namespace npzoo
