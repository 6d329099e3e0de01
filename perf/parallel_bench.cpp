// Measures the cost of sharing out a short loop: npzoo's thread pool and oneTBB, on an idle machine and beside a busy
// neighbour. Usage: parallel_bench [threads]. perf/NOTES.md says why the pool is npzoo's own.

#include <fmt/core.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "npzoo/engine/parallel.h"

namespace {

constexpr std::int64_t kChunks = 16;
constexpr int kLoops = 4000;

/// About a microsecond of arithmetic per hundred rounds.
double work(std::int64_t rounds) {
  double x = 1;
  for (std::int64_t i = 0; i < rounds; ++i) x = x * 1.0000001 + 1e-9;
  return x;
}

struct Timing {
  double median, p99;
};

template <class F>
Timing microseconds(F loop) {
  std::vector<double> times;
  for (int i = 0; i < kLoops; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    loop();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(times);
  return {times[kLoops / 2], times[kLoops * 99 / 100]};
}

void compare(int threads, std::int64_t rounds) {
  std::vector<double> sums(kChunks);
  npzoo::ThreadPool pool(threads);
  const auto chunk = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sums[static_cast<std::size_t>(i)] = work(rounds);
  };
  const Timing alone = microseconds([&] { chunk(0, kChunks); });
  const Timing ours = microseconds([&] { pool.for_range(kChunks, 1, chunk); });
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  const Timing theirs = microseconds([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::int64_t>(0, kChunks, 1), [&](const auto& r) { chunk(r.begin(), r.end()); },
        tbb::simple_partitioner());
  });
  fmt::print("  {:8.1f} µs alone | pool {:8.1f} (p99 {:8.1f}) | oneTBB {:8.1f} (p99 {:8.1f})\n", alone.median,
             ours.median, ours.p99, theirs.median, theirs.p99);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  for (bool busy : {false, true}) {
    std::atomic<bool> stop{false};
    std::thread neighbour([&] {
      while (busy && !stop) work(1000);
    });
    fmt::print("{} threads, {}: one loop of {} chunks, median\n", threads,
               busy ? "beside a busy neighbour" : "idle machine", kChunks);
    for (std::int64_t rounds : {100, 400, 1600, 6400}) compare(threads, rounds);
    stop = true;
    neighbour.join();
  }
}
