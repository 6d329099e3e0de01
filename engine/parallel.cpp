#include "npzoo/engine/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "npzoo/engine/call_scopes.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/measure/machine.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace npzoo {

namespace {

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

/// Loops of one training step follow each other within microseconds: a worker that looks this long seldom sleeps
/// between them, and one that finds nothing gives its core back soon after the step.
constexpr int kSpins = 2000;

thread_local bool inside = false;

void check_count(int threads) { check(threads >= 0, "[threads] {} threads found, expected 0 (all) or more", threads); }

/// Called before each chunk. Cheap if the caller has no stop scope.
void look_for_stop() {
  if (call_scopes.stop != nullptr) throw_if_stopped();
}

/// Sets the flag for the length of its scope.
struct Inside {
  Inside() { inside = true; }
  ~Inside() { inside = false; }
};

/// Marks a loop for its caller and workers if the caller captures a graph: GpuTurn refuses work within such a loop.
struct LoopOfCapturing {
  LoopOfCapturing() { call_scopes.loop_of_capturing = call_scopes.capturing; }
  ~LoopOfCapturing() { call_scopes.loop_of_capturing = false; }
};

}  // namespace

/// `gate` holds kOpen while a loop may be joined, plus the number of workers inside it. Workers join and the caller
/// closes by one atomic operation each, so the caller waits only for those that did join.
struct ThreadPool::State {
  static constexpr std::uint32_t kOpen = 1u << 31;

  std::mutex user;                   // of the thread that runs a loop, or changes the number of threads
  std::vector<std::thread> workers;  // guarded by user
  std::atomic<int> threads{1};       // wanted, the caller included; 1 while their number changes
  std::atomic<int> asked{-1};        // what resize was called with
  Loop loop{};
  CallScopes scopes{};  // of the thread that runs the loop
  alignas(64) std::atomic<std::int64_t> next{0};
  alignas(64) std::atomic<std::uint32_t> gate{0};
  alignas(64) std::atomic<std::uint32_t> epoch{0};
  std::atomic<int> sleepers{0};
  std::atomic<bool> stopping{false};
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // of the thread that set `failed`

  bool join_loop() {
    std::uint32_t seen = gate.load(std::memory_order_acquire);
    while (seen & kOpen)
      if (gate.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
    return false;
  }

  void take_chunks() noexcept {
    const Loop& mine = loop;
    try {
      while (true) {
        const std::int64_t begin = next.fetch_add(mine.grain, std::memory_order_relaxed);
        if (begin >= mine.n) return;
        look_for_stop();
        mine.call(mine.body, begin, std::min(mine.n, begin + mine.grain));
      }
    } catch (...) {
      next.store(mine.n, std::memory_order_relaxed);
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }

  void wait_for_change(std::uint32_t seen) {
    for (int i = 0; i < kSpins; ++i) {
      if (epoch.load(std::memory_order_acquire) != seen) return;
      pause_briefly();
    }
    sleepers.fetch_add(1);
    epoch.wait(seen);
    sleepers.fetch_sub(1);
  }

  void work() {
    const Inside loops;
    std::uint32_t seen = 0;
    while (!stopping.load(std::memory_order_acquire)) {
      wait_for_change(seen);
      seen = epoch.load(std::memory_order_acquire);
      if (!join_loop()) continue;
      call_scopes = scopes;
      take_chunks();
      call_scopes = {};
      gate.fetch_sub(1, std::memory_order_release);
    }
  }

  void announce() {
    epoch.fetch_add(1);
    if (sleepers.load() > 0) epoch.notify_all();
  }

  /// Starts workers until there are `count`. Returns false if the system refuses one.
  bool start(int count) try {
    workers.reserve(static_cast<std::size_t>(count));
    while (std::ssize(workers) < count) workers.emplace_back([this] { work(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }

  void stop() {
    stopping.store(true, std::memory_order_release);
    epoch.fetch_add(1);
    epoch.notify_all();
    for (std::thread& worker : workers) worker.join();
    workers.clear();
    stopping.store(false, std::memory_order_release);
  }

  /// Starts the missing workers, or as many as the system bears.
  void staff(int count) {
    while (!start(count)) {
      // A limit is near, of threads or of address space: half of what can be had leaves room for the work itself.
      count = static_cast<int>(workers.size()) / 2;
      stop();
    }
    threads.store(count + 1, std::memory_order_relaxed);
  }
};

/// The pools of the process. A forked child has their memory but none of their workers: it forgets the old states,
/// whose threads it cannot join and whose mutexes a thread of the parent may have held, and starts with new ones.
struct ThreadPool::Registry {
  std::mutex mutex;
  std::vector<ThreadPool*> pools;
  std::vector<State*> forgotten;

  static Registry& instance() {
    static auto* const registry = [] {
      ::pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); },
                       [] {
                         instance().renew_all();
                         instance().mutex.unlock();
                       });
      return new Registry;
    }();
    return *registry;
  }

  void add(ThreadPool* pool) {
    const std::lock_guard lock(mutex);
    pools.push_back(pool);
  }
  void remove(ThreadPool* pool) {
    const std::lock_guard lock(mutex);
    std::erase(pools, pool);
  }
  void renew_all() {
    for (ThreadPool* pool : pools) {
      auto renewed = std::make_unique<State>();
      renewed->threads = pool->state_->threads.load();
      renewed->asked = pool->state_->asked.load();
      forgotten.push_back(pool->state_.release());
      pool->state_ = std::move(renewed);
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  resize(threads);
  Registry::instance().add(this);
}

ThreadPool::~ThreadPool() {
  Registry::instance().remove(this);
  state_->stop();
}

int ThreadPool::threads() const { return state_->threads.load(std::memory_order_relaxed); }

void ThreadPool::resize(int threads) {
  State& s = *state_;
  check_count(threads);
  if (s.asked.load(std::memory_order_relaxed) == threads) return;
  check(!inside, "[threads] the number of threads cannot change inside a loop");
  s.threads.store(1, std::memory_order_relaxed);
  const std::lock_guard use(s.user);
  s.stop();
  s.staff(std::min(threads == 0 ? usable_cores() : threads, most_threads()) - 1);
  s.asked.store(threads, std::memory_order_relaxed);
}

void ThreadPool::run(const Loop& loop) {
  State& s = *state_;
  const auto alone = [&loop] {
    for (std::int64_t begin = 0; begin < loop.n; begin += loop.grain) {
      look_for_stop();
      loop.call(loop.body, begin, std::min(loop.n, begin + loop.grain));
    }
  };
  if (loop.n <= loop.grain || inside) return alone();
  const Inside this_loop;
  const LoopOfCapturing marked;
  if (s.threads.load(std::memory_order_relaxed) == 1) return alone();
  const std::unique_lock use(s.user, std::try_to_lock);
  if (!use) return alone();
  if (s.workers.empty()) s.staff(s.threads.load(std::memory_order_relaxed) - 1);

  s.loop = loop;
  s.scopes = call_scopes;
  s.next.store(0, std::memory_order_relaxed);
  s.gate.store(State::kOpen, std::memory_order_release);
  s.announce();
  s.take_chunks();
  s.gate.fetch_and(~State::kOpen, std::memory_order_acq_rel);
  for (int spins = 0; s.gate.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < kSpins)
      pause_briefly();
    else
      std::this_thread::yield();
  }
  if (s.failed.exchange(false)) std::rethrow_exception(std::exchange(s.error, nullptr));
}

bool ThreadPool::inside_loop() { return inside; }

namespace {

/// Made with so many threads if it is not there yet. Never destroyed: static objects may use it when the process ends,
/// and a forked child has no workers to join.
ThreadPool& process_pool(int threads = 0) {
  static auto* const pool = new ThreadPool(threads);
  return *pool;
}

}  // namespace

ThreadPool& thread_pool() { return process_pool(); }

void set_threads(int threads) { process_pool(threads).resize(threads); }

}  // namespace npzoo
