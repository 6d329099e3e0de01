#include "npzoo/engine/memory.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "npzoo/engine/measure/machine.h"
#include "npzoo/engine/optim/optimiser.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/layer_norm/layer_norm.h"
#include "npzoo/ops/linear/linear.h"
#include "npzoo/ops/masked_attention/masked_attention.h"
#include "tests/forked.h"
#include "tests/testing.h"

namespace {

std::atomic<std::int64_t> news{0};
thread_local std::int64_t news_left = -1;  // of this thread, before one fails; -1: all are served

bool is_served() {
  ++news;
  return news_left < 0 || news_left-- > 0;
}

}  // namespace

// Counts what the program allocates outside the pool. Not inlined: g++ warns of a free that follows a new.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return is_served() ? std::malloc(bytes ? bytes : 1) : nullptr;
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* memory = is_served() ? std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit) : nullptr) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Meson has glibc fill all that a test allocates (MALLOC_PERTURB_). While this lives it does not: blocks as large as
/// the machine's memory must not be touched, or the system kills somebody.
class UnfilledBlocks {
 public:
  UnfilledBlocks() { fill_with(0); }
  ~UnfilledBlocks() {
    if (const char* asked = std::getenv("MALLOC_PERTURB_")) fill_with(std::atoi(asked));
  }

 private:
  static void fill_with([[maybe_unused]] int byte) {
#ifdef M_PERTURB
    mallopt(M_PERTURB, byte);
#endif
  }
};

}  // namespace

namespace {

/// Calls f() with one allocation after the other failing, until none does. Returns how many calls failed.
template <class F>
int with_each_new_failing(const F& f) {
  for (int failed = 0;; ++failed) {
    news_left = failed;
    try {
      f();
    } catch (const std::bad_alloc&) {
      news_left = -1;
      continue;
    }
    news_left = -1;
    return failed;
  }
}

}  // namespace

TEST_CASE("memory: an operation that finds no room on the tape leaves nothing behind") {
  const OnCpu cpu;
  const auto token = std::make_shared<int>(0);
  const int failed = with_each_new_failing([&] {
    Tape tape;
    const Recording on(tape);
    Tensor x = Tensor::zeros({1});
    tape.watch(x);
    Tensor out = Tensor::zeros({1});
    record("probe", out, {x}, [token](const Tensor&, Grads&) {});
  });
  CHECK(failed >= 2);  // a chunk of closures, and the list of nodes
  CHECK(token.use_count() == 1);
}

TEST_CASE("memory: a block that cannot be described takes nothing of the device") {
  if (!has_gpu()) return;
  release_cached_memory(Device::cuda);
  const std::int64_t free = gpu_runtime().info().free_bytes, live = memory_stats(Device::cuda).live_bytes;
  CHECK(with_each_new_failing([] { const Buffer block(1 << 20, Device::cuda); }) >= 1);
  release_cached_memory(Device::cuda);
  CHECK(memory_stats(Device::cuda).live_bytes == live);
  if (active_gpu() == Gpu::emulated) CHECK(gpu_runtime().info().free_bytes == free);
}

TEST_CASE("memory: a graph keeps its memory when cached memory is released") {
  if (!has_gpu()) return;
  release_cached_memory(Device::cuda);
  const auto take = [] {
    const GraphMemory room;
    return Buffer(3 << 20, Device::cuda).data();
  };
  const std::byte* const of_graph = take();
  count_graphs(1);
  release_cached_memory(Device::cuda);
  const std::int64_t held = memory_stats(Device::cuda).reserved_bytes;
  const std::int64_t asked = memory_stats(Device::cuda).system_allocations;
  CHECK(take() == of_graph);
  CHECK(memory_stats(Device::cuda).system_allocations == asked);
  count_graphs(-1);
  release_cached_memory(Device::cuda);
  CHECK(memory_stats(Device::cuda).reserved_bytes <= held - (3 << 20));
}

TEST_CASE("memory: the room of graphs is that of the thread that captures") {
  if (!has_gpu()) return;
  release_cached_memory(Device::cuda);
  const GraphMemory room;
  std::thread([] { const Buffer other(5 << 20, Device::cuda); }).join();  // goes back to the common room
  count_graphs(1);
  const std::int64_t held = memory_stats(Device::cuda).reserved_bytes;
  release_cached_memory(Device::cuda);
  count_graphs(-1);
  if (!kGuardBuild) CHECK(memory_stats(Device::cuda).reserved_bytes <= held - (5 << 20));
}

TEST_CASE("memory: blocks are aligned, large enough and not much larger") {
  for (std::size_t bytes = 1; bytes < 100'000; bytes += 1 + bytes / 7) {
    const std::int64_t before = memory_stats().live_bytes;
    const Buffer buffer(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
    std::fill_n(buffer.data(), bytes, std::byte{1});
    const auto used = static_cast<std::size_t>(memory_stats().live_bytes - before);
    CHECK(used >= bytes);
    CHECK(used <= std::max(bytes + 63, bytes + bytes / 8));
  }
}

TEST_CASE("memory: no bytes are a block too") {
  const Buffer none, empty(0), other(0);
  CHECK(!none);
  CHECK(none.data() == nullptr);
  CHECK(empty);
  CHECK(empty.data() != nullptr);
  CHECK(empty.data() != other.data());
}

TEST_CASE("memory: counters of live bytes and their peak") {
  const MemoryStats before = memory_stats();
  reset_peak_memory();
  CHECK(memory_stats().peak_live_bytes == before.live_bytes);
  {
    const Buffer a(1 << 20);
    {
      const Buffer b(1 << 20);
      CHECK(memory_stats().live_bytes == before.live_bytes + (2 << 20));
    }
    const Buffer shared = a;
    CHECK(memory_stats().live_bytes == before.live_bytes + (1 << 20));
    CHECK(memory_stats().peak_live_bytes == before.live_bytes + (2 << 20));
  }
  CHECK(memory_stats().live_bytes == before.live_bytes);
  CHECK(memory_stats().reserved_bytes >= memory_stats().live_bytes);
  CHECK(memory_stats().peak_reserved_bytes >= memory_stats().reserved_bytes);
  reset_peak_memory();
  CHECK(memory_stats().peak_live_bytes == before.live_bytes);
  CHECK(memory_stats().peak_reserved_bytes == memory_stats().reserved_bytes);
}

TEST_CASE("memory: a freed block serves the next request of its class") {
  const std::byte* first = Buffer(5000).data();
  const std::int64_t system = memory_stats().system_allocations;
  const Buffer again(4999);
  if (kGuardBuild) return;
  CHECK(again.data() == first);
  CHECK(memory_stats().system_allocations == system);
  const Buffer another(4999);
  CHECK(another.data() != first);
}

TEST_CASE("memory: cached blocks are given back on demand") {
  release_cached_memory();
  const MemoryStats before = memory_stats();
  const Buffer kept(10'000);
  const std::int64_t with_one = memory_stats().reserved_bytes;
  { const Buffer a(1 << 20), b(1 << 21), c(1 << 20); }
  if (!kGuardBuild) CHECK(memory_stats().reserved_bytes >= with_one + (4 << 20));
  release_cached_memory();
  CHECK(memory_stats().reserved_bytes == with_one);
  CHECK(memory_stats().live_bytes > before.live_bytes);
  CHECK(memory_stats().system_allocations >= before.system_allocations + 3);
}

TEST_CASE("memory: handles share a block until the last one goes") {
  Buffer a(100);
  const std::byte* block = a.data();
  CHECK(a.unique());
  Buffer b = a;
  CHECK(!a.unique());
  CHECK(b.data() == block);
  a = Buffer();
  CHECK(b.unique());
  a = std::move(b);
  CHECK(a.data() == block);
  CHECK(!b);
  Buffer& same = a;
  a = same;
  CHECK(a.data() == block);
  CHECK(a.unique());
}

TEST_CASE("memory: a request that nothing can meet") {
  const MemoryStats before = memory_stats();
  const std::string message = error_of([] { const Buffer huge(std::size_t{1} << 60); });
  CHECK(message.starts_with("[memory] the system has no room for 11529215"));
  CHECK_THROWS_AS(Buffer(std::size_t{1} << 60), OutOfMemory);
  CHECK(message.find(" bytes; npzoo holds ") != std::string::npos);
  CHECK(message.find(fmt::format("of which tensors use {}", before.live_bytes)) != std::string::npos);
  CHECK(memory_stats().live_bytes == before.live_bytes);
  if (!kHasCuda && !kHasEmulator)
    CHECK(error_of([] { const Buffer far(8, Device::cuda); }) == "[device] this build of npzoo has no CUDA support");
}

TEST_CASE("memory: no more altogether than the machine has, whatever the system promises") {
  if (kGuardBuild) return;  // it writes to all of a block
  const UnfilledBlocks unfilled;
  const auto most = static_cast<std::size_t>(usable_memory() / 3 * 2);
  const auto both = [most] { const Buffer one(most), other(most); };
  CHECK_THROWS_AS(both(), OutOfMemory);
}

TEST_CASE("memory: a limit for tensors") {
  release_cached_memory();
  const std::int64_t live = memory_stats().live_bytes, held = memory_stats().reserved_bytes;
  CHECK(error_of([] { set_memory_limit(-1); }) == "[memory] a limit of -1 bytes found, expected 0 (none) or more");
  CHECK(memory_stats().limit_bytes == 0);
  const MemoryLimit limit(live + (3 << 20));
  CHECK(memory_stats().limit_bytes == live + (3 << 20));
  {
    const Buffer first(1 << 20), second(1 << 20), third(1 << 20);  // up to the limit, not one byte beyond
    const MemoryStats full = memory_stats();
    CHECK(error_of([] { const Buffer more(1); }) ==
          fmt::format(
              "[memory] 64 bytes more would exceed the limit of {}; npzoo holds {} bytes, of which tensors use {}",
              full.limit_bytes, full.reserved_bytes, full.live_bytes));
    CHECK_THROWS_AS(Buffer(1), OutOfMemory);
    CHECK_THROWS_AS(Buffer(std::size_t{1} << 60), OutOfMemory);
    CHECK(memory_stats().live_bytes == full.live_bytes);
    CHECK(memory_stats().system_allocations == full.system_allocations);
  }
  const Buffer large(2 << 20);  // not of the class of the cached blocks, which have to make room
  CHECK(memory_stats().live_bytes == live + (2 << 20));
  CHECK(memory_stats().reserved_bytes - held < (2 << 20) + 1024);
  CHECK_THROWS_AS(Buffer((1 << 20) + 1), OutOfMemory);
  set_memory_limit(live + (1 << 20));  // below what is in use already
  CHECK_THROWS_AS(Buffer(1), OutOfMemory);
  set_memory_limit(0);
  CHECK(Buffer(4 << 20).data() != nullptr);
}

TEST_CASE("memory: a kernel that is refused memory on another thread fails like any other") {
  const ThreadCount threads(3);
  std::atomic<int> refused = 0;
  {
    const MemoryLimit limit(memory_stats().live_bytes + (1 << 20));
    try {
      thread_pool().for_range(64, 1, [](std::int64_t, std::int64_t) { const Buffer scratch(2 << 20); });
    } catch (const OutOfMemory&) {
      ++refused;
    }
  }
  CHECK(refused == 1);
  CHECK(memory_stats().limit_bytes == 0);
}

TEST_CASE("memory: several threads take and give back") {
  const std::int64_t live = memory_stats().live_bytes;
  std::atomic<int> spoiled = 0;
  std::vector<std::thread> threads;
  for (unsigned char number = 1; number <= 4; ++number)
    threads.emplace_back([number, &spoiled] {
      for (std::size_t i = 0; i < 3000; ++i) {
        const std::size_t bytes = 1 + i * 37 % 2000;
        const Buffer buffer(bytes);
        std::fill_n(buffer.data(), bytes, std::byte{number});
        const Buffer copy = buffer;
        spoiled += std::any_of(copy.data(), copy.data() + bytes, [&](std::byte b) { return b != std::byte{number}; });
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(spoiled == 0);
  CHECK(memory_stats().live_bytes == live);
}

TEST_CASE("memory: a forked child takes memory, whatever other threads did at that moment") {
  if (!kForksAmongThreads) return;
  std::atomic<bool> over = false;
  std::vector<std::jthread> users;
  for (int user = 0; user < 2; ++user)
    users.emplace_back([&over] {
      while (!over) const Buffer block(1 << 10);
    });
  int failed = 0;
  for (int i = 0; i < 40 && failed == 0; ++i)
    failed += status_of_child([] {
      const Buffer of_new_size(777'777);  // is looked for in all rooms
      return 0;
    });
  over = true;
  CHECK(failed == 0);
}

TEST_CASE("memory: a block goes back to the thread that took it, and serves others where they have none") {
  if (kGuardBuild) return;
  const auto goes_back_and_serves = [] {
    release_cached_memory();
    std::byte *here = nullptr, *there = nullptr;
    Buffer from_there;
    {
      const Buffer own(70'000);
      here = own.data();
      std::thread([&] {
        from_there = Buffer(70'000);
        there = from_there.data();
      }).join();
    }
    from_there = Buffer();
    const std::int64_t system = memory_stats().system_allocations;
    const Buffer own(70'000), taken(70'000);
    return own.data() == here && taken.data() == there && memory_stats().system_allocations == system;
  };
  // Threads get the arenas in turn. One of two new ones has another arena than this thread.
  const bool first = goes_back_and_serves(), second = goes_back_and_serves();
  CHECK((first || second));
}

TEST_CASE("memory: training at fixed shapes requests nothing from the system after the first steps") {
  const ThreadCount one(1);  // with more, how many work at once decides how many blocks they need
  constexpr std::int64_t kWidth = 16;
  Parameter weight{normal<float>({kWidth, kWidth}, 1, 0.3)}, bias{normal<float>({kWidth}, 2)};
  Parameter gain{Tensor::full({kWidth}, 1)}, shift{Tensor::zeros({kWidth})};
  std::vector<NamedParameter> parameters{{"weight", &weight}, {"bias", &bias}, {"gain", &gain}, {"shift", &shift}};
  Optimiser optimiser({.kind = OptimiserKind::adam, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                      parameters);
  const Tensor x = normal<float>({4, 20, kWidth}, 3);

  Tape tape;
  const auto step = [&] {
    const Recording on(tape);
    for (const auto& [name, parameter] : parameters) tape.watch(parameter->value);
    const Tensor h = linear(x, weight.value, bias.value, Activation::relu);
    const Tensor a = masked_attention(h, h, h, PrefixMask::growing(1), {.heads = 2});
    const auto [sum, norm] = residual_layer_norm(h, a, gain.value, shift.value);
    const Tensor out = mul(add(sum, norm), tanh(norm));
    optimiser.step(tape.backward(out, Tensor::full(out.shape(), 1e-3)), 1e-3, 1.0);
  };
  for (int i = 0; i < 3; ++i) step();

  const MemoryStats before = memory_stats(default_device());
  std::vector<std::int64_t> allocations;
  for (int i = 0; i < 10; ++i) {
    const std::int64_t start = news;
    step();
    allocations.push_back(news - start);
  }
  if (!kGuardBuild) CHECK(memory_stats(default_device()).system_allocations == before.system_allocations);
  CHECK(memory_stats(default_device()).live_bytes == before.live_bytes);
  if (default_device() != Device::cpu) return;  // what lies ready for a device comes and goes
  CHECK(allocations == std::vector<std::int64_t>(10, allocations[0]));
  CHECK(allocations[0] < 100);  // lists of the attention's query rows; nothing that grows with the data
}

#ifdef NPZOO_GUARD
TEST_CASE("memory: a guarded block starts as NaN") {
  for (double value : doubles(Tensor::empty({33}))) CHECK(std::isnan(value));
  for (double value : doubles(Tensor::empty({33}, DType::float64))) CHECK(std::isnan(value));
}
#endif
