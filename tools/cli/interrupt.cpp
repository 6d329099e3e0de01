#include "tools/cli/interrupt.h"

#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/temporaries.h"

namespace npzoo::tools {

namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // as a signal handler needs it

/// Posted when a watcher is to look. sem_post is one of the few functions that a signal handler may call.
sem_t* const news = [] {
  static sem_t semaphore;
  ::sem_init(&semaphore, 0, 0);
  return &semaphore;
}();

extern "C" void npzoo_on_interrupt(int) {
  const int code = errno;
  interrupted.store(true);
  ::sem_post(news);
  errno = code;
}

std::atomic<bool> checkpoint_wanted{false};

extern "C" void npzoo_on_checkpoint_signal(int) { checkpoint_wanted.store(true); }

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

/// A thread that requests a stop after a signal.
class InterruptGuard::Watcher {
 public:
  Watcher() try {
    // The thread inherits the mask: signals go to the threads that they went to before.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const Restored mask{before};
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error& e) {
    fail("[interrupt] cannot start a thread: {}", e.code().message());
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() {
    ending_.store(true);
    ::sem_post(news);
    thread_.join();
  }

  std::stop_token token() const { return source_.get_token(); }

 private:
  struct Restored {
    ~Restored() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
    sigset_t mask;
  };

  void watch() {
    while (!ending_.load()) {
      if (interrupted.load()) source_.request_stop();
      while (::sem_wait(news) != 0 && errno == EINTR) continue;
    }
  }

  std::stop_source source_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

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

std::stop_token InterruptGuard::token() const {
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
  return {};  // without threads: a page ends the worker that computes
#else
  if (!watcher_) watcher_ = std::make_unique<Watcher>();
  return watcher_->token();
#endif
}

bool InterruptGuard::requested() const { return interrupted.load(); }

CheckpointSignal::CheckpointSignal() {
  checkpoint_wanted.store(false);
  struct sigaction now {};
  now.sa_handler = npzoo_on_checkpoint_signal;
  sigemptyset(&now.sa_mask);
  now.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &now, &before_);
}

CheckpointSignal::~CheckpointSignal() { ::sigaction(SIGUSR1, &before_, nullptr); }

bool CheckpointSignal::take() { return checkpoint_wanted.exchange(false); }

}  // namespace npzoo::tools
