#include "npzoo/engine/cuda/emulator.h"

#include <array>
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "npzoo/engine/cuda/emulated_runtime.h"
#include "npzoo/engine/cuda/shared_limit.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"

namespace npzoo::emulator {

constinit thread_local Position* fiber_position = nullptr;
constinit thread_local Position thread_position;

namespace {

constexpr int kLanes = 32, kMostThreads = 1024;
constexpr std::size_t kStackBytes = std::size_t{128} << 10, kMostSharedBytes = std::size_t{227} << 10;
constexpr std::size_t kUnaskedSharedBytes = std::size_t{48} << 10;  // the device's rule, whatever kernels ask for
constexpr unsigned char kPoison = 0xFF, kGuard = 0xA5;              // every float made of the first is a NaN
constexpr std::size_t kGuardBytes = 64;

enum class State : std::uint8_t { ready, at_block_barrier, at_warp_barrier, done };

/// Slots of a warp, twice: a lane may be one exchange ahead of another, and no more.
struct Warp {
  alignas(64) std::byte slots[2][kLanes][kWarpSlotBytes];
};

/// One thread of the block at hand. The fiber goes from kernel to kernel.
struct Thread {
  explicit Thread(Warp& its_warp) : warp(&its_warp) {}

  Warp* warp;
  Position position;
  State state = State::done;
  int place = 0;      // among the lanes that run
  unsigned turn = 0;  // exchanges made
  const std::function<void()>* kernel = nullptr;
  boost::context::fiber fiber;  // empty while it runs

  void wait(State why);
};

/// The lanes of the warp at hand, in the order in which they run.
struct Lanes {
  std::array<Thread*, kLanes> threads{};
  int count = 0, at_barrier = 0;

  /// The first lane from `place` on that is ready; null: there is none.
  Thread* ready_from(int place) const {
    while (place < count && threads[place]->state != State::ready) ++place;
    return place < count ? threads[place] : nullptr;
  }
  /// The lane to go on with after one has come to wait at `place`. The last one at the barrier opens it.
  Thread* after(int place) {
    if (Thread* next = ready_from(place + 1)) return next;
    if (at_barrier < count) return nullptr;
    at_barrier = 0;
    for (int i = 0; i < count; ++i) threads[i]->state = State::ready;
    return threads[0];
  }
};

/// The state of a thread of the CPU that runs blocks.
struct Worker {
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Warp> warps = std::vector<Warp>(kMostThreads / kLanes);
  std::unique_ptr<std::byte[]> shared = std::make_unique<std::byte[]>(kMostSharedBytes + kGuardBytes + 128);
  Lanes lanes;
  boost::context::fiber scheduler;  // empty while it runs

  std::byte* shared_begin() const {
    return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(shared.get()) + 127) / 128 * 128);
  }
};

thread_local Worker worker;
thread_local Worker* own_worker = nullptr;  // is found faster than `worker`, whose first use constructs it
thread_local Thread* running = nullptr;

/// Stacks whose tops lie at different places of a page: at the same one they would share a few lines of the cache.
class StaggeredStack {
 public:
  explicit StaggeredStack(int thread) : offset_(static_cast<std::size_t>(thread % kLanes) * kStep) {}

  boost::context::stack_context allocate() { return moved(stack_.allocate(), -static_cast<std::ptrdiff_t>(offset_)); }
  void deallocate(boost::context::stack_context& context) {
    context = moved(context, static_cast<std::ptrdiff_t>(offset_));
    stack_.deallocate(context);
  }

 private:
  static constexpr std::size_t kStep = std::size_t{7} << 6;  // 7 lines

  static boost::context::stack_context moved(boost::context::stack_context context, std::ptrdiff_t bytes) {
    context.sp = static_cast<std::byte*>(context.sp) + bytes;
    context.size += static_cast<std::size_t>(bytes);
    return context;
  }

  boost::context::fixedsize_stack stack_{kStackBytes};
  std::size_t offset_;
};

/// Leaves a fiber, whose rest `left` keeps, and goes on with another one.
void go_on(boost::context::fiber& left, boost::context::fiber& with) {
  std::move(with).resume_with([&left](boost::context::fiber&& rest) {
    left = std::move(rest);
    return boost::context::fiber();
  });
}

void go_on(boost::context::fiber& left, Thread& thread) {
  if (!thread.fiber)
    thread.fiber = boost::context::fiber(std::allocator_arg, StaggeredStack(static_cast<int>(thread.position.thread.x)),
                                         [&thread](boost::context::fiber&& none) {
                                           while (true) {
                                             (*thread.kernel)();
                                             thread.wait(State::done);
                                           }
                                           return std::move(none);
                                         });
  running = &thread;
  fiber_position = &thread.position;
  go_on(left, thread.fiber);
}

/// Goes on with the next lane at once: a way by the scheduler would take two changes of fibers.
void Thread::wait(State why) {
  state = why;
  Worker& w = *own_worker;
  w.lanes.at_barrier += why == State::at_warp_barrier;
  Thread* next = w.lanes.after(place);
  if (next == this) return;
  if (next) return go_on(fiber, *next);
  running = nullptr;
  fiber_position = nullptr;
  go_on(fiber, w.scheduler);
}

struct Launch {
  const char* name;
  dim3 blocks;
  int threads;
  std::size_t shared;
  bool backwards;
};

class Block {
 public:
  Block(const Launch& launch, const std::function<void()>& kernel, std::int64_t index)
      : launch_(launch), worker_(worker) {
    own_worker = &worker_;
    for (std::size_t t = worker_.threads.size(); std::cmp_less(t, launch.threads); ++t)
      worker_.threads.push_back(std::make_unique<Thread>(worker_.warps[t / kLanes]));
    std::memset(worker_.shared_begin(), kPoison, launch.shared);
    std::memset(worker_.shared_begin() + launch.shared, kGuard, kGuardBytes);
    const auto i = static_cast<unsigned>(index);
    const dim3 block(i % launch.blocks.x, i / launch.blocks.x % launch.blocks.y, i / launch.blocks.x / launch.blocks.y);
    for (int t = 0; t < launch.threads; ++t) {
      Thread& thread = *worker_.threads[t];
      thread.position = {dim3(static_cast<unsigned>(t), 0, 0), block, dim3(static_cast<unsigned>(launch.threads)),
                         launch.blocks};
      thread.kernel = &kernel;
      thread.state = State::ready;
    }
  }

  void run() {
    const int warps = (launch_.threads + kLanes - 1) / kLanes;
    while (true) {
      for (int w = 0; w < warps; ++w) run_warp(launch_.backwards ? warps - 1 - w : w);
      if (all(0, launch_.threads, State::done)) break;
      if (!all(0, launch_.threads, State::at_block_barrier)) stuck("__syncthreads");
      for (int t = 0; t < launch_.threads; ++t) worker_.threads[t]->state = State::ready;
    }
    const std::byte* guard = worker_.shared_begin() + launch_.shared;
    if (!std::all_of(guard, guard + kGuardBytes, [](std::byte b) { return b == std::byte{kGuard}; }))
      give_up("it wrote past the end of its {} bytes of shared memory", launch_.shared);
  }

 private:
  /// Until its lanes wait for the rest of the block or are done.
  void run_warp(int warp) {
    const int first = warp * kLanes, last = std::min(first + kLanes, launch_.threads);
    Lanes& lanes = worker_.lanes;
    lanes.count = last - first;
    lanes.at_barrier = 0;
    for (int i = 0; i < lanes.count; ++i) {
      lanes.threads[i] = worker_.threads[launch_.backwards ? last - 1 - i : first + i].get();
      lanes.threads[i]->place = i;
    }
    if (Thread* ready = lanes.ready_from(0)) go_on(worker_.scheduler, *ready);
    if (lanes.at_barrier > 0) stuck("an exchange of a warp");
  }

  bool all(int first, int last, State state) const {
    return std::all_of(worker_.threads.begin() + first, worker_.threads.begin() + last,
                       [state](const auto& t) { return t->state == state; });
  }
  [[noreturn]] void stuck(const char* what) const { give_up("found {} that some threads do not reach", what); }
  template <class... A>
  [[noreturn]] void give_up(fmt::format_string<A...> what, A&&... arguments) const {
    worker_.threads.clear();  // unwinds the fibers
    fail("[emulator] kernel {}: {}", launch_.name, fmt::format(what, std::forward<A>(arguments)...));
  }

  const Launch& launch_;
  Worker& worker_;
};

/// The most shared memory that was allowed for each kernel.
struct Allowed {
  std::mutex mutex;
  std::map<const void*, std::size_t> bytes;

  std::size_t of(const void* function) {
    const std::lock_guard lock(mutex);
    const auto found = bytes.find(function);
    return found == bytes.end() ? kUnaskedSharedBytes : std::max(kUnaskedSharedBytes, found->second);
  }
};

Allowed& allowed() {
  static auto* const kernels = new Allowed;
  return *kernels;
}

bool next_backwards() {
  static std::atomic<unsigned> launches{0};
  return launches++ % 2 == 1;
}

}  // namespace

void* shared_memory() { return worker.shared_begin(); }

void block_barrier() { running->wait(State::at_block_barrier); }

void warp_barrier() { running->wait(State::at_warp_barrier); }

std::byte* next_warp_slots() { return running->warp->slots[running->turn++ % 2][0]; }

void allow_shared_memory(const char* name, const void* function, std::size_t bytes, int most) {
  check_shared_memory("emulator", name, bytes, most);
  Allowed& kernels = allowed();
  const std::lock_guard lock(kernels.mutex);
  kernels.bytes[function] = bytes;
}

void launch(const char* name, dim3 blocks, int threads, std::size_t shared, std::function<void()> kernel,
            const void* function) {
  check(
      threads >= 1 && threads <= kMostThreads && shared <= kMostSharedBytes && blocks.y <= 65535 && blocks.z <= 65535,
      "[emulator] kernel {}: {} threads a block, {} bytes of shared memory and {} × {} × {} blocks found, expected at "
      "most {} threads, {} bytes, and 65535 blocks along y and z",
      name, threads, shared, blocks.x, blocks.y, blocks.z, kMostThreads, kMostSharedBytes);
  check(shared <= allowed().of(function),
        "[emulator] kernel {}: {} bytes of shared memory found, expected at most the {} that it was allowed", name,
        shared, allowed().of(function));
  submit([launch = Launch{name, blocks, threads, shared, false}, kernel = std::move(kernel)]() mutable {
    launch.backwards = next_backwards();
    const std::int64_t count = std::int64_t{launch.blocks.x} * launch.blocks.y * launch.blocks.z;
    thread_pool().for_range(count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) Block(launch, kernel, launch.backwards ? count - 1 - i : i).run();
    });
  });
}

void for_each(const char*, std::int64_t n, std::function<void(std::int64_t, std::int64_t)> body) {
  constexpr std::int64_t kGrain = 1 << 14;
  submit([n, body = std::move(body)] { thread_pool().for_range(n, kGrain, body); });
}

}  // namespace npzoo::emulator
