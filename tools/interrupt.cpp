#include "tools/interrupt.h"

#include <atomic>
#include <csignal>

namespace npzoo {

namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // as a signal handler needs it

extern "C" void npzoo_on_interrupt(int signal) {
  interrupted.store(true);
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupted.store(false);
  std::signal(SIGINT, npzoo_on_interrupt);
  std::signal(SIGTERM, npzoo_on_interrupt);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptGuard::requested() const { return interrupted.load(); }

}  // namespace npzoo
