#include "npzoo/engine/measure/machine.h"

#include <sched.h>

#include <fstream>
#include <thread>

#include "tests/testing.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

/// Control groups that are files of a test.
class Groups {
 public:
  explicit Groups(std::string_view memberships) { put("memberships", memberships); }

  void put(std::string_view file, std::string_view text) const {
    fs::create_directories((directory_ / file).parent_path());
    std::ofstream(directory_ / file) << text;
  }
  ControlGroups groups() const { return {directory_ / "memberships", directory_ / ""}; }
  int cores() const { return usable_cores(groups()); }
  std::int64_t memory() const { return usable_memory(groups()); }

 private:
  TemporaryDirectory directory_;
};

/// While it lives, this thread may run on one core alone.
class OneCore {
 public:
  OneCore() {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; CPU_COUNT(&one) == 0; ++core)
      if (CPU_ISSET(core, &before_)) CPU_SET(core, &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;
  ~OneCore() { ::sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

}  // namespace

TEST_CASE("machine: cores of the affinity mask") {
  CHECK(usable_cores() >= 1);
  CHECK(usable_cores() <= static_cast<int>(std::thread::hardware_concurrency()));
  CHECK(most_threads() >= 64);
  CHECK(most_threads() >= 4 * usable_cores());
  const OneCore one;
  CHECK(usable_cores() == 1);
}

TEST_CASE("machine: cores that control groups grant") {
  const int all = usable_cores({"/nonexistent", "/nonexistent"});
  const Groups two("0::/a/b\n");
  CHECK(two.cores() == all);
  two.put("a/b/cpu.max", "max 100000\n");
  CHECK(two.cores() == all);
  two.put("a/b/cpu.max", "150000 100000\n");
  CHECK(two.cores() == std::min(all, 2));
  two.put("a/cpu.max", "10000 100000\n");  // a group has no more than the one it is in
  CHECK(two.cores() == 1);

  const Groups one("4:memory:/x\n3:cpu,cpuacct:/x\n");
  one.put("cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  one.put("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  CHECK(one.cores() == all);
  one.put("cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n");
  CHECK(one.cores() == 1);

  const Groups container("3:cpu:/path/on/the/host\n");
  container.put("cpu/cpu.cfs_quota_us", "50000\n");
  container.put("cpu/cpu.cfs_period_us", "100000\n");
  CHECK(container.cores() == 1);
}

TEST_CASE("machine: memory that control groups allow") {
  const std::int64_t all = usable_memory({"/nonexistent", "/nonexistent"});
  CHECK(all > kMiB);
  CHECK(usable_memory() <= all);
  const Groups two("0::/a/b\n");
  CHECK(two.memory() == all);
  two.put("a/b/memory.max", "max\n");
  CHECK(two.memory() == all);
  two.put("a/memory.max", "1048576\n");
  CHECK(two.memory() == kMiB);
  const Groups one("9:memory:/x\n8:cpu:/x\n");
  one.put("memory/x/memory.limit_in_bytes", "9223372036854771712\n");
  one.put("cpu/x/memory.limit_in_bytes", "1\n");
  CHECK(one.memory() == all);
  one.put("memory/memory.limit_in_bytes", "2097152\n");
  CHECK(one.memory() == 2 * kMiB);
  CHECK(Groups("nonsense\n::\n0:").memory() == all);
}
