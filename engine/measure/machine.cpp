#include "npzoo/engine/measure/machine.h"

#include <sys/resource.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/sysinfo.h>
#elif defined(__EMSCRIPTEN__)
#include <emscripten/heap.h>
#endif

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace npzoo {

namespace {

namespace fs = std::filesystem;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// The numbers of a file; none if one is spelled "max" or the file cannot be read.
std::vector<double> numbers_in(const fs::path& file) {
  std::ifstream in(file);
  std::vector<double> numbers;
  for (double number = 0; in >> number;) numbers.push_back(number);
  return numbers;
}

/// Cores' worth of time.
double cpu_limit(const fs::path& group) {
  std::vector<double> quota = numbers_in(group / "cpu.max");  // version 2: quota and period
  if (quota.empty()) {
    quota = numbers_in(group / "cpu.cfs_quota_us");
    const std::vector<double> period = numbers_in(group / "cpu.cfs_period_us");
    quota.insert(quota.end(), period.begin(), period.end());
  }
  return quota.size() == 2 && quota[0] > 0 && quota[1] > 0 ? quota[0] / quota[1] : kUnlimited;
}

double memory_limit(const fs::path& group) {
  std::vector<double> bytes = numbers_in(group / "memory.max");
  if (bytes.empty()) bytes = numbers_in(group / "memory.limit_in_bytes");
  return bytes.size() == 1 && bytes[0] > 0 ? bytes[0] : kUnlimited;
}

/// The tightest limit of a group and of all that it is in. A line of memberships is `ID:CONTROLLERS:PATH`, without
/// controllers for version 2. A container may be told a path of its host, of which only the root is there.
double tightest(const ControlGroups& groups, const std::string& controller, double (*limit)(const fs::path&)) {
  double result = kUnlimited;
  std::ifstream in(groups.memberships);
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && ("," + controllers + ",").find("," + controller + ",") == line.npos) continue;
    const fs::path root = controllers.empty() ? groups.mount : groups.mount / controllers;
    fs::path path = fs::path(line.substr(second + 1)).relative_path();
    for (; !path.empty(); path = path.parent_path()) result = std::min(result, limit(root / path));
    result = std::min(result, limit(root));
  }
  return result;
}

int allowed_cores() {
#if defined(__linux__)
  cpu_set_t mask;
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0) return CPU_COUNT(&mask);
    // An error: more cores than a mask has bits.
#elif defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
  return 1;
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

/// Bytes of memory and swap.
double machine_memory() {
#if defined(__linux__)
  struct sysinfo machine {};
  if (::sysinfo(&machine) != 0) return kUnlimited;
  return (static_cast<double>(machine.totalram) + static_cast<double>(machine.totalswap)) *
         static_cast<double>(machine.mem_unit);
#elif defined(__EMSCRIPTEN__)
  return static_cast<double>(::emscripten_get_heap_max());
#else
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
#endif
}

}  // namespace

int usable_cores(const ControlGroups& groups) {
  const double granted = std::ceil(tightest(groups, "cpu", cpu_limit));
  return static_cast<int>(std::max(1.0, std::min(granted, static_cast<double>(allowed_cores()))));
}

int most_threads() { return std::max(64, 4 * usable_cores()); }

std::int64_t usable_memory(const ControlGroups& groups) {
  double bytes = std::min(tightest(groups, "memory", memory_limit), machine_memory());
  struct rlimit space {};
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    bytes = std::min(bytes, static_cast<double>(space.rlim_cur));
  return static_cast<std::int64_t>(std::min(bytes, 0x1p62));
}

}  // namespace npzoo
