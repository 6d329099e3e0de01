#pragma once

namespace npzoo {

constexpr int kInterruptedExit = 130;

/// While alive, the first Ctrl-C (or SIGTERM) only sets a flag, so that work can be saved; the second one ends the
/// program as usual.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool requested() const;
};

}  // namespace npzoo
