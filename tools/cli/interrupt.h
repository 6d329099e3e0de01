#pragma once

#include <array>
#include <csignal>
#include <memory>
#include <stop_token>

namespace npzoo::tools {

/// The exit status of a command that was asked to stop, by whichever signal: what it had done is saved.
constexpr int kInterruptedExit = 130;

/// From now on Ctrl-C (SIGINT), SIGTERM and the end of the terminal (SIGHUP) remove the temporary files of outputs and
/// end the program with kInterruptedExit. Signals that were ignored stay ignored.
void end_tidily_on_signals();

/// While alive, Ctrl-C (SIGINT), SIGTERM and the end of the terminal (SIGHUP) only set a flag, so that work can be
/// saved. A second SIGINT ends the program at once; the next writer of the same files removes its temporary files. A
/// second SIGTERM or SIGHUP changes nothing, because the system may send one several times. Ignored signals stay
/// ignored, so `nohup` and the background jobs of shell scripts work as before. The destructor restores the earlier
/// handlers.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool requested() const;
  /// Returns a token that a signal triggers, also one that came before. A handler must not trigger it itself, because
  /// that may take a lock: the first call starts a thread that waits for the handler. Do not fork() while the guard
  /// lives, unless the child ends by _exit(). Throws Error if the system has no more threads.
  std::stop_token token() const;

 private:
  class Watcher;

  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

  std::array<struct sigaction, kSignals.size()> before_{};
  mutable std::unique_ptr<Watcher> watcher_;  // made by the first token()
};

/// While alive, SIGUSR1 asks for a checkpoint instead of ending the program: schedulers and MPI launchers pass it on.
class CheckpointSignal {
 public:
  CheckpointSignal();
  ~CheckpointSignal();
  CheckpointSignal(const CheckpointSignal&) = delete;
  CheckpointSignal& operator=(const CheckpointSignal&) = delete;

  /// Returns whether there was one since the last call.
  bool take();

 private:
  struct sigaction before_ {};
};

}  // namespace npzoo::tools
