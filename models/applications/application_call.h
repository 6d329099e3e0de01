#pragma once

#include <stop_token>
#include <utility>

#include "npzoo/engine/boundary.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/model.h"

namespace npzoo {

/// Calls `f` under the rules of applications: `stop` and the caller's own scopes interrupt it, tensors are made on the
/// device of the model (null: the default device), nothing is recorded, and every exception becomes an Error.
template <class F>
decltype(auto) call_application(const std::stop_token& stop, const Model* model, F&& f) {
  return with_errors([&]() -> decltype(auto) {
    const StopScope scope(stop);
    throw_if_stopped();
    const DeviceScope on(model != nullptr ? device_of(*model) : default_device());
    const NoGrad off;
    return std::forward<F>(f)();
  });
}

}  // namespace npzoo
