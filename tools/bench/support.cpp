#include "tools/bench/support.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <numeric>
#include <string>

#include "npzoo/engine/cpu/context.h"
#include "npzoo/engine/cpu/peak.h"
#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/memory.h"
#include "npzoo/engine/precision.h"
#include "npzoo/ops/matmul/matmul.h"
#include "tools/cli/commit.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace npzoo::tools {

namespace {

/// How long the repetitions of one measurement may take.
constexpr double kPatience = 3000;  // ms

/// Gives the C library's own cache back: a later peak would else hold what an earlier, larger size has left.
void release_freed_memory() {
  release_cached_memory(default_device());
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

bool reset_peak_rss() {
  std::ofstream file("/proc/self/clear_refs");
  return static_cast<bool>(file << '5' << std::flush);
}

std::optional<std::int64_t> peak_rss_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    if (key != "VmHWM:") continue;
    std::int64_t kibibytes = 0;
    if (status >> kibibytes) return kibibytes * 1024;
  }
  return {};
}

/// Returns a quantile of sorted values: the nearest of them.
double quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

}  // namespace

JsonValue machine() {
  JsonValue names = JsonValue::object({{"device", to_string(default_device())},
                                       {"precision", to_string(matmul_precision())},
                                       {"isa", to_string(active_isa())},
                                       {"threads", thread_pool().threads()},
                                       {"commit", kCommit}});
  if (default_device() == Device::cpu) return names;
  const GpuInfo gpu = gpu_runtime().info();
  names.update({{"gpu", gpu.name}, {"driver_cuda", gpu.driver}});
  return names;
}

std::string machine_in_words() {
  if (default_device() == Device::cpu)
    return fmt::format("{} thread(s), {}", thread_pool().threads(), to_string(active_isa()));
  return fmt::format("{}, {}", gpu_runtime().info().name, to_string(matmul_precision()));
}

double measured_peak_gflops() {
  if (default_device() == Device::cpu) return measure_peak_gflops(thread_pool().threads());
  const std::int64_t n = active_gpu() == Gpu::nvidia ? 8192 : 128;
  const Tensor a = Tensor::full({n, n}, 1), b = Tensor::full({n, n}, 1);
  const Timings timings = repeat(20, [&] { return milliseconds([&] { static_cast<void>(matmul(a, b)); }); });
  return 2 * static_cast<double>(n * n * n) / timings.p10_ms * 1e-6;
}

double measured_bandwidth_gbs() {
  if (default_device() == Device::cpu) return measure_bandwidth_gbs(thread_pool().threads());
  const std::int64_t n = active_gpu() == Gpu::nvidia ? 1 << 28 : 1 << 12;
  const Tensor x = Tensor::full({n}, 1);
  const Timings timings = repeat(20, [&] { return milliseconds([&] { static_cast<void>(x.clone()); }); });
  return 2 * static_cast<double>(x.bytes()) / timings.p10_ms * 1e-6;
}

double milliseconds(const std::function<void()>& f) {
  const auto wait = [] {
    if (default_device() == Device::cuda) gpu_runtime().synchronise();
  };
  wait();
  const auto begin = std::chrono::steady_clock::now();
  f();
  wait();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double cpu_milliseconds() {
  std::timespec time{};
  check(::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0, "[bench] processor time cannot be read");
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

Timings summarise(std::vector<double> milliseconds) {
  std::ranges::sort(milliseconds);
  return {quantile(milliseconds, 0.5), quantile(milliseconds, 0.1), quantile(milliseconds, 0.9),
          std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0) / static_cast<double>(milliseconds.size()),
          static_cast<std::int64_t>(milliseconds.size())};
}

Timings repeat(std::int64_t repeats, const std::function<double()>& run) {
  const double first = run();
  const double fitting = std::min(static_cast<double>(repeats), kPatience / std::max(first, 1e-6));
  std::vector<double> times;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(fitting); ++i) times.push_back(run());
  if (times.empty()) times.push_back(first);
  return summarise(std::move(times));
}

Tensor random_normal(Random& random, const Shape& shape) {
  Tensor values = Tensor::empty(shape, DType::float32, Device::cpu);
  for (float& value : values.values<float>()) value = static_cast<float>(random.normal());
  return values.to(default_device());
}

MemoryWatch::MemoryWatch() {
  release_freed_memory();
  reset_peak_memory(default_device());
  rss_was_reset_ = reset_peak_rss();
}

MemoryPeaks MemoryWatch::peaks() const {
  const MemoryStats memory = memory_stats(default_device());
  return {memory.peak_live_bytes, memory.peak_reserved_bytes, rss_was_reset_ ? peak_rss_bytes() : std::nullopt};
}

JsonValue to_json(const MemoryPeaks& peaks) {
  return JsonValue::object(
      {{"peak_live_bytes", peaks.live}, {"peak_reserved_bytes", peaks.reserved}, {"peak_rss_bytes", peaks.resident}});
}

}  // namespace npzoo::tools
