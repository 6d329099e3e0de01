#pragma once

#include <stop_token>

#include "tools/cli/interrupt.h"

namespace npzoo {

/// While alive, turns Ctrl-C into a request to stop.
class InterruptStop {
 public:
  std::stop_token token() const { return source_.get_token(); }
  /// Requests a stop after Ctrl-C and returns whether there was one. Call it several times a second.
  bool poll() {
    if (guard_.requested()) source_.request_stop();
    return source_.stop_requested();
  }

 private:
  InterruptGuard guard_;
  std::stop_source source_;
};

}  // namespace npzoo
