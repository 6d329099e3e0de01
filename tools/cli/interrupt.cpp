#include "tools/cli/interrupt.h"

#include <unistd.h>

#include <atomic>

#include "npzoo/engine/io/temporaries.h"

namespace npzoo {

namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // as a signal handler needs it

extern "C" void npzoo_on_interrupt(int) { interrupted.store(true); }

extern "C" void npzoo_end_tidily(int) {
  remove_temporaries();
  ::_exit(kInterruptedExit);
}

}  // namespace

void end_tidily_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler == SIG_IGN) continue;
    now = {};
    now.sa_handler = npzoo_end_tidily;
    sigemptyset(&now.sa_mask);
    ::sigaction(signal, &now, nullptr);
  }
}

InterruptGuard::InterruptGuard() {
  interrupted.store(false);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;
    struct sigaction ours {};
    ours.sa_handler = npzoo_on_interrupt;
    sigemptyset(&ours.sa_mask);
    // One event can send the others several times. System and shell both report the end of a terminal. When a parent
    // with several threads is killed, Linux sends the signal of PR_SET_PDEATHSIG once for each thread that ends.
    ours.sa_flags = SA_RESTART | (kSignals[i] == SIGINT ? static_cast<int>(SA_RESETHAND) : 0);
    ::sigaction(kSignals[i], &ours, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

bool InterruptGuard::requested() const { return interrupted.load(); }

}  // namespace npzoo
