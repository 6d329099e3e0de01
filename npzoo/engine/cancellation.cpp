#include "npzoo/engine/cancellation.h"

#include <utility>

namespace npzoo {

namespace {

thread_local const StopScope* innermost = nullptr;

}  // namespace

StopScope::StopScope(std::stop_token token) : token_(std::move(token)), outer_(innermost) { innermost = this; }
StopScope::StopScope(std::function<bool()> requested) : requested_(std::move(requested)), outer_(innermost) { innermost = this; }
StopScope::~StopScope() { innermost = outer_; }

bool stop_requested() {
  for (const StopScope* scope = innermost; scope != nullptr; scope = scope->outer_)
    if (scope->token_.stop_requested() || (scope->requested_ && scope->requested_())) return true;
  return false;
}

void throw_if_stopped() {
  if (stop_requested()) throw Interrupted("[stop] the call was asked to stop");
}

}  // namespace npzoo
