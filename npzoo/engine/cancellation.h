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

/// Makes `token` the calling thread's stop token until the scope ends. Loops of the library look at it several times a
/// second and throw Interrupted after a stop was requested. Scopes may be nested: a request of any of them counts.
class StopScope {
 public:
  explicit StopScope(std::stop_token token);
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

/// True after a stop was requested from one of the calling thread's scopes.
bool stop_requested();
/// Throws Interrupted after a stop was requested from one of the calling thread's scopes.
void throw_if_stopped();

}  // namespace npzoo
