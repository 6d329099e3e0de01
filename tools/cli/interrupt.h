#pragma once

#include <array>
#include <csignal>

namespace npzoo {

/// The exit status of a command that was asked to stop, by whichever signal: what it had done is saved.
constexpr int kInterruptedExit = 130;

/// From now on Ctrl-C (SIGINT), SIGTERM and the end of the terminal (SIGHUP) remove the temporary files of outputs and
/// end the program with kInterruptedExit. Signals that were ignored stay ignored.
void end_tidily_on_signals();

/// While alive, Ctrl-C (SIGINT), SIGTERM and the end of the terminal (SIGHUP) only set a flag, so that work can be
/// saved. A second SIGINT or SIGTERM ends the program at once; the next writer removes its temporary files. Signals
/// that were ignored stay ignored: `nohup` and the background jobs of shell scripts are left alone. The destructor
/// restores what each signal did before.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool requested() const;

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace npzoo
