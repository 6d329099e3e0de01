#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace npzoo {

/// Threads that share loops. Each thread takes the next chunk when it is done with its last one. The caller works too
/// and never waits for a worker that has not started, so a core that another program takes delays no other thread.
/// Chunk boundaries depend on the range and the grain alone, so results do not depend on the number of threads.
///
/// A child made by fork() between loops can use the pool: its first loop starts the workers again, which fork() does
/// not copy.
class ThreadPool {
 public:
  /// `threads` counts the caller; 0 means `usable_cores()`. Fewer where `most_threads()` or the system demands it.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;
  /// Changes the number of threads; arguments as those of the constructor. Waits for a loop that another thread runs;
  /// loops that begin meanwhile run on their own thread alone. Throws Error inside a loop.
  void resize(int threads);

  /// True within the body of a loop of several chunks: loops inside run on the calling thread. Does not depend on the
  /// number of threads.
  static bool inside_loop();

  /// Calls `body(begin, end)` for consecutive chunks of [0, n), each of `grain` elements but the last. A call from
  /// inside another loop, or while another thread uses the pool, runs on the calling thread alone. When `body` throws,
  /// no further chunk is begun, and the first exception reaches the caller once those that had begun are over. Throws
  /// Interrupted before a chunk if the caller's StopScope asks for it; workers do their chunks under the caller's
  /// scopes.
  template <class F>
  void for_range(std::int64_t n, std::int64_t grain, F&& body) {
    if (n <= 0) return;
    using Body = std::remove_reference_t<F>;
    run({n, grain < 1 ? 1 : grain, const_cast<void*>(static_cast<const void*>(&body)),
         [](void* f, std::int64_t begin, std::int64_t end) { (*static_cast<Body*>(f))(begin, end); }});
  }

 private:
  struct Loop {
    std::int64_t n, grain;
    void* body;
    void (*call)(void*, std::int64_t, std::int64_t);
  };
  struct State;
  struct Registry;
  void run(const Loop& loop);

  std::unique_ptr<State> state_;
};

/// Returns the one pool of the process. It lives until the process ends.
ThreadPool& thread_pool();
/// Changes the number of its threads, as ThreadPool::resize does.
void set_threads(int threads);

}  // namespace npzoo
