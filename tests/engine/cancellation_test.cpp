#include "npzoo/engine/cancellation.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <thread>

#include "npzoo/engine/device_counter.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/precision.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr const char* kStopped = "[stop] the call was asked to stop";

/// Requests a stop from the n-th look on.
auto after_looks(std::atomic<int>& looks, int n) {
  return [&looks, n] { return ++looks >= n; };
}

DeviceCounter counted_events("cancellation_test");

void count_event() { add_to_count(*counted_events.on(Device::cpu), 1); }

}  // namespace

TEST_CASE("cancellation: a request of any scope counts until the scope ends, or while it is not ignored") {
  CHECK_FALSE(stop_possible());
  CHECK_FALSE(stop_requested());
  std::stop_source outer, inner;
  const StopScope first(outer.get_token());
  CHECK(stop_possible());
  {
    const StopScope second(inner.get_token());
    CHECK_FALSE(stop_requested());
    inner.request_stop();
    CHECK(stop_requested());
    CHECK(error_of(throw_if_stopped) == kStopped);
    CHECK_THROWS_AS(throw_if_stopped(), Interrupted);
    {
      const IgnoreStop whole;
      CHECK_FALSE(stop_possible());
      CHECK_FALSE(stop_requested());
      const StopScope own(inner.get_token());  // of the work itself
      CHECK(stop_requested());
    }
    CHECK(stop_requested());
  }
  CHECK_FALSE(stop_requested());
  outer.request_stop();
  const StopScope other([] { return false; });
  CHECK(stop_requested());
}

TEST_CASE("cancellation: a loop looks before each chunk, on any number of threads") {
  for (const int threads : {1, 2, 5}) {
    CAPTURE(threads);
    ThreadPool pool(threads);
    std::atomic<int> looks = 0, chunks = 0;
    const StopScope stop(after_looks(looks, 6));
    const auto body = [&](std::int64_t, std::int64_t) { ++chunks; };
    CHECK(error_of([&] { pool.for_range(100, 1, body); }) == kStopped);
    CHECK(chunks == 5);
    CHECK(error_of([&] { pool.for_range(1, 1, body); }) == kStopped);  // a loop of one chunk looks as well
    CHECK(chunks == 5);
    const IgnoreStop whole;
    pool.for_range(100, 1, body);
    CHECK(chunks == 105);
  }
}

TEST_CASE("cancellation: workers have the caller's scopes during its loop, nested loops too") {
  ThreadPool pool(4);
  const auto all_chunks = [&](const auto& holds) {
    std::atomic<bool> all = true;
    pool.for_range(64, 1, [&](std::int64_t, std::int64_t) {
      pool.for_range(8, 1, [&](std::int64_t, std::int64_t) { all = all && holds(); });
    });
    return all.load();
  };
  const Device other = default_device() == Device::cpu ? Device::cuda : Device::cpu;
  for (int repeat = 0; repeat < 20; ++repeat) {
    {
      std::stop_source source;
      const StopScope stop(source.get_token());
      const DeviceScope on(other);
      const PrecisionScope by(Precision::bf16);
      CHECK(all_chunks(
          [&] { return stop_possible() && default_device() == other && matmul_precision() == Precision::bf16; }));
    }
    CHECK(all_chunks(
        [&] { return !stop_possible() && default_device() != other && matmul_precision() == Precision::float32; }));
  }
}

TEST_CASE("cancellation: a stop token stops a loop that another thread runs") {
  std::stop_source source;
  std::atomic<bool> begun = false;
  std::string message;
  std::thread working([&] {
    const StopScope stop(source.get_token());
    message = error_of(
        [&] { thread_pool().for_range(std::int64_t{1} << 40, 1, [&](std::int64_t, std::int64_t) { begun = true; }); });
  });
  while (!begun) std::this_thread::yield();
  source.request_stop();
  working.join();
  CHECK(message == kStopped);
}

TEST_CASE("cancellation: a reader that waits for a pipe stops, and reads on later") {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const Descriptor both_ends(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(both_ends.is_open());
  ReadOnlyFile reader(path);
  AtomicFile writer(path);
  std::array<std::byte, 8> bytes{};
  {
    std::atomic<int> looks = 0;
    const StopScope stop(after_looks(looks, 4));
    writer.write("one");
    writer.flush();
    CHECK(reader.read(bytes) == 3);
    CHECK(looks == 1);
    CHECK(error_of([&] { reader.read(bytes); }) == kStopped);
    CHECK(looks == 4);
  }
  writer.write("three");
  writer.commit();
  CHECK(reader.read(bytes) == 5);
}

TEST_CASE("cancellation: a backward pass stops between operations, and its tape can be used again") {
  Tensor x = normal<double>({4, 3}, 1);
  Tape tape;
  const auto gradient = [&] {
    tape.clear();
    tape.watch(x);
    Tensor y;
    {
      const Recording on(tape);
      y = x;
      for (int i = 0; i < 5; ++i) y = mul(y, x);
      y = sum(sum(y, 1), 0);
    }
    return tape.backward(y).of(x);
  };
  const Tensor expected = gradient();
  std::atomic<int> looks = 0;
  {
    const StopScope stop([&] { return ++looks, false; });
    CHECK(same_bits(gradient(), expected));
  }
  const int all = looks;
  CHECK(all >= 7 + 7);  // operations, and their gradients
  for (int n = 1; n <= all; ++n) {
    CAPTURE(n);
    {
      looks = 0;
      const StopScope stop(after_looks(looks, n));
      CHECK_THROWS_AS(gradient(), Interrupted);
    }
    CHECK(same_bits(gradient(), expected));
  }
}

TEST_CASE("counters: a scope counts its thread's events and those of the workers, and no others") {
  ThreadPool pool(3);
  const std::int64_t before = counted_events.total();
  const auto count_many = [&](ThreadPool& on, std::int64_t n) {
    on.for_range(n, 1, [](std::int64_t, std::int64_t) { count_event(); });
  };
  {
    const CountScope outer(counted_events);
    count_many(pool, 10);
    {
      const CountScope inner(counted_events);
      count_many(pool, 100);
      CHECK(inner.count() == 100);
      CHECK(outer.count() == 10);
    }
    CHECK(outer.count() == 110);
    CHECK(counted_events.total() == before);
    std::thread other([&] {
      ThreadPool own(2);
      const CountScope scope(counted_events);
      count_many(own, 1000);
      CHECK(scope.count() == 1000);
    });
    other.join();
    CHECK(outer.count() == 110);
    CHECK(counted_events.total() == before + 1000);
  }
  CHECK(counted_events.total() == before + 1110);
}
