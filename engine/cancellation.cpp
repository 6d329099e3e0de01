#include "npzoo/engine/cancellation.h"

#include <utility>

#include "npzoo/engine/call_scopes.h"

namespace npzoo {

StopScope::StopScope(std::stop_token token) : token_(std::move(token)), outer_(call_scopes.stop) {
  call_scopes.stop = this;
}
StopScope::StopScope(std::function<bool()> requested) : requested_(std::move(requested)), outer_(call_scopes.stop) {
  call_scopes.stop = this;
}
StopScope::~StopScope() { call_scopes.stop = outer_; }

IgnoreStop::IgnoreStop() : hidden_(std::exchange(call_scopes.stop, nullptr)) {}
IgnoreStop::~IgnoreStop() { call_scopes.stop = hidden_; }

bool stop_possible() { return call_scopes.stop != nullptr; }

bool stop_requested() {
  for (const StopScope* scope = call_scopes.stop; scope != nullptr; scope = scope->outer_)
    if (scope->token_.stop_requested() || (scope->requested_ && scope->requested_())) return true;
  return false;
}

void throw_if_stopped() {
  if (stop_requested()) throw Interrupted("[stop] the call was asked to stop");
}

}  // namespace npzoo
