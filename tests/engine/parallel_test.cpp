#include "npzoo/engine/parallel.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "npzoo/engine/measure/machine.h"
#include "tests/forked.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// How often a loop over [0, n) came to each index; -1 marks a chunk with other bounds than it should have.
std::vector<int> visits(ThreadPool& pool, std::int64_t n, std::int64_t grain) {
  std::vector<std::atomic<int>> counts(static_cast<std::size_t>(n));
  const std::int64_t step = std::max<std::int64_t>(grain, 1);
  pool.for_range(n, grain, [&](std::int64_t begin, std::int64_t end) {
    const bool right = begin % step == 0 && end == std::min(n, begin + step);
    for (std::int64_t i = begin; i < end; ++i) counts[static_cast<std::size_t>(i)] += right ? 1 : -1;
  });
  return {counts.begin(), counts.end()};
}

/// Whether a loop of two chunks has two threads at work at the same time: each chunk waits for the other, for 20
/// seconds at most.
bool shared_out(ThreadPool& pool) {
  std::atomic<int> begun = 0;
  std::atomic<bool> met = true;
  pool.for_range(2, 1, [&](std::int64_t, std::int64_t) {
    ++begun;
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (begun < 2 && met) {
      std::this_thread::yield();
      if (std::chrono::steady_clock::now() > give_up) met = false;
    }
  });
  return met;
}

bool all_once(const std::vector<int>& counts) {
  return std::ranges::all_of(counts, [](int count) { return count == 1; });
}

}  // namespace

TEST_CASE("parallel: every index once, in chunks that n and the grain decide") {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (std::int64_t n : {0, 1, 2, 7, 64, 1000, 4097})
      for (std::int64_t grain : {-1, 0, 1, 3, 64, 5000}) {
        CAPTURE(n);
        CAPTURE(grain);
        CHECK(all_once(visits(pool, n, grain)));
      }
    pool.for_range(-5, 1, [](std::int64_t, std::int64_t) { FAIL("an empty range has no chunks"); });
  }
}

TEST_CASE("parallel: many short loops in a row") {
  ThreadPool pool(3);
  std::atomic<std::int64_t> sum = 0;
  for (int i = 0; i < 20'000; ++i) pool.for_range(4, 1, [&](std::int64_t begin, std::int64_t) { sum += begin + 1; });
  CHECK(sum == 20'000 * 10);
}

TEST_CASE("parallel: a loop inside a loop runs on its own thread") {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> counts(30 * 40);
  std::atomic<int> strays = 0;
  pool.for_range(30, 1, [&](std::int64_t i, std::int64_t) {
    const auto outer = std::this_thread::get_id();
    pool.for_range(40, 1, [&](std::int64_t j, std::int64_t) {
      strays += std::this_thread::get_id() != outer;
      ++counts[static_cast<std::size_t>(i * 40 + j)];
    });
  });
  CHECK(strays == 0);
  CHECK(all_once({counts.begin(), counts.end()}));
  CHECK(all_once(visits(pool, 1000, 1)));
}

TEST_CASE("parallel: the chunks of a loop do not depend on the number of threads") {
  for (int threads : {1, 2, 4}) {
    CAPTURE(threads);
    ThreadPool pool(threads);
    std::atomic<int> inside = 0;
    const auto look = [&](std::int64_t, std::int64_t) { inside += ThreadPool::inside_loop(); };
    pool.for_range(100, 1, look);
    CHECK(inside == 100);
    pool.for_range(100, 100, look);  // a single chunk leaves the threads to the loops in it
    CHECK(inside == 100);
    CHECK(error_of([&] { pool.for_range(9, 1, [](std::int64_t, std::int64_t) { fail("bad"); }); }) == "bad");
    CHECK(!ThreadPool::inside_loop());
  }
}

TEST_CASE("parallel: an exception in a chunk reaches the caller, and the pool works afterwards") {
  for (int threads : {1, 2, 4}) {
    CAPTURE(threads);
    ThreadPool pool(threads);
    for (std::int64_t bad : {0, 7, 199}) {
      std::atomic<int> begun = 0, over = 0;
      const auto loop = [&] {
        pool.for_range(200, 1, [&](std::int64_t i, std::int64_t) {
          ++begun;
          if (i == bad) fail("[chunk] {} is bad", i);
          ++over;
        });
      };
      CHECK(error_of(loop) == fmt::format("[chunk] {} is bad", bad));
      CHECK(begun == over + 1);  // nothing runs any more
      CHECK(all_once(visits(pool, 1000, 3)));
    }
    const auto everywhere = [&] { pool.for_range(100, 1, [](std::int64_t, std::int64_t) { fail("[chunk] bad"); }); };
    const auto nested = [&] { pool.for_range(100, 1, [&](std::int64_t, std::int64_t) { everywhere(); }); };
    for (int i = 0; i < 100; ++i) {
      CHECK(error_of(everywhere) == "[chunk] bad");
      CHECK(error_of(nested) == "[chunk] bad");
    }
    CHECK(all_once(visits(pool, 1000, 3)));
  }
}

TEST_CASE("parallel: several threads use one pool at the same time") {
  ThreadPool pool(3);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&] {
      for (int i = 0; i < 200; ++i) wrong += !all_once(visits(pool, 300, 7));
    });
  for (std::thread& user : users) user.join();
  CHECK(wrong == 0);
}

TEST_CASE("parallel: pools come and go, used or not") {
  for (int i = 0; i < 50; ++i) {
    ThreadPool pool(1 + i % 4);
    if (i % 2) CHECK(all_once(visits(pool, 10, 1)));
  }
}

TEST_CASE("parallel: the requested number of threads, up to the limit of the machine") {
  CHECK(ThreadPool(0).threads() == usable_cores());
  CHECK(ThreadPool(most_threads()).threads() == most_threads());
  ThreadPool pool(50'000);
  CHECK(pool.threads() == most_threads());
  CHECK(all_once(visits(pool, 1000, 1)));
}

TEST_CASE("parallel: the pool of the process") {
  const ThreadCount keep(1);
  for (int threads : {1, 2, 5}) {
    set_threads(threads);
    CHECK(thread_pool().threads() == threads);
    const ThreadPool* before = &thread_pool();
    set_threads(threads);
    CHECK(&thread_pool() == before);
    CHECK(all_once(visits(thread_pool(), 1000, 3)));
  }
  set_threads(0);
  CHECK(thread_pool().threads() == usable_cores());
  CHECK(error_of([] { set_threads(-1); }) == "[threads] -1 threads found, expected 0 (all) or more");
  CHECK(all_once(visits(thread_pool(), 1000, 3)));
}

TEST_CASE("parallel: a second thread takes its share, be it awake or asleep") {
  if (most_threads() < 2) return;
  ThreadPool pool(2);
  CHECK(shared_out(pool));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // by then it has stopped looking
  CHECK(shared_out(pool));
}

TEST_CASE("parallel: the number of threads changes while another thread runs loops") {
  ThreadPool pool(2);
  std::atomic<bool> over = false;
  std::atomic<int> wrong = 0, loops = 0;
  std::thread user([&] {
    for (; !over; ++loops) wrong += !all_once(visits(pool, 300, 7));
  });
  for (int i = 0; i < 100 || loops < 100; ++i) pool.resize(1 + i % 3);
  over = true;
  user.join();
  CHECK(wrong == 0);
  CHECK(all_once(visits(pool, 300, 7)));
}

TEST_CASE("parallel: the number of threads does not change inside a loop") {
  ThreadPool pool(2);
  CHECK(error_of([&] { pool.for_range(9, 1, [&](std::int64_t, std::int64_t) { pool.resize(3); }); }) ==
        "[threads] the number of threads cannot change inside a loop");
  CHECK(pool.threads() == std::min(2, most_threads()));
  CHECK(all_once(visits(pool, 300, 7)));
}

#ifndef __SANITIZE_THREAD__  // which ends a forked child that starts a thread
TEST_CASE("parallel: a forked child computes with as many threads, and ends") {
  const ThreadCount threads(2);
  ThreadPool own(3);
  CHECK(all_once(visits(thread_pool(), 300, 7)));
  const auto compute = [&] {
    bool right = thread_pool().threads() == std::min(2, most_threads()) && all_once(visits(thread_pool(), 300, 7)) &&
                 all_once(visits(own, 300, 7));
    right = right && (most_threads() < 2 || shared_out(thread_pool()));
    { const ThreadPool another(2); }
    set_threads(1);
    return right && all_once(visits(thread_pool(), 300, 7)) ? 0 : 1;
  };
  CHECK(status_of_child(compute) == 0);
  CHECK(status_of_child([] { return 0; }) == 0);
  CHECK(status_of_child([&] { return status_of_child(compute); }) == 0);
  CHECK(shared_out(thread_pool()) == (most_threads() > 1));
}
#endif
