#include "npzoo/engine/cuda/gpu.h"

#include <charconv>

#include "npzoo/engine/call_scopes.h"
#include "npzoo/engine/config.h"
#include "npzoo/engine/cuda/emulated_runtime.h"
#include "npzoo/engine/cuda/gpu_selection.h"
#include "npzoo/engine/cuda/nvidia_runtime.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

GpuSelection& selection() {
  static auto* const process = new GpuSelection({kHasCuda ? Gpu::nvidia : Gpu::emulated});
  return *process;
}

std::unique_ptr<GpuRuntime> make_runtime(GpuChoice choice) {
  if constexpr (kHasCuda)
    if (choice.gpu == Gpu::nvidia) return make_nvidia_runtime(choice.index);
  if constexpr (kHasEmulator)
    if (choice.gpu == Gpu::emulated) return make_emulated_runtime();
  fail("[device] {}", why_no_gpu());
}

std::recursive_mutex& turns() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

std::atomic<bool> unified{false};

}  // namespace

std::string_view to_string(Gpu gpu) { return gpu == Gpu::nvidia ? "nvidia" : "emulated"; }

std::string to_string(const GpuChoice& choice) {
  return choice.gpu == Gpu::emulated ? "emulated" : fmt::format("cuda:{}", choice.index);
}

void GpuSelection::choose(GpuChoice wanted) {
  const std::lock_guard lock(mutex_);
  check(wanted == choice_ || !runtime_.load(std::memory_order_relaxed),
        "[device] {} found, expected {}: a process keeps the GPU that it has started", to_string(wanted),
        to_string(choice_));
  choice_ = wanted;
  gpu_.store(wanted.gpu, std::memory_order_relaxed);
}

DeviceName parse_device(std::string_view name) {
  constexpr std::string_view kIndexed = "cuda:";
  if (name == "cpu") return {DeviceName::Kind::cpu};
  if (name == "cuda") return {DeviceName::Kind::cuda};
  if (name == "auto") return {DeviceName::Kind::automatic};
  if (name == "emulated") return {DeviceName::Kind::emulated};
  if (name.starts_with(kIndexed)) {
    const std::string_view digits = name.substr(kIndexed.size());
    int index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc() && end == digits.data() + digits.size() && digits.front() != '-')
      return {DeviceName::Kind::cuda, index};
  }
  fail("[device] '{}' is not a device; expected cpu, cuda, cuda:INDEX, auto or emulated", name);
}

void check_gpu_index(int index, std::int64_t count, std::string_view why_none) {
  check(count > 0, "[device] {}", why_none);
  check(index >= 0 && index < count, "[device] cuda:{} found, expected an index below {}, the number of CUDA devices",
        index, count);
}

Gpu active_gpu() { return selection().gpu(); }

void select_gpu(Gpu gpu, int index) {
  if (gpu == Gpu::nvidia)
    check_gpu_index(index, std::ssize(list_gpus()), why_no_gpu());
  else
    check(kHasEmulator, "[device] this build of npzoo has no emulated device");
  selection().choose({gpu, index});
}

std::vector<GpuInfo> list_gpus() {
  if constexpr (kHasCuda) return list_nvidia_gpus();
  return {};
}

std::string why_no_gpu() {
  if constexpr (kHasCuda) return why_no_nvidia_gpu();
  return "this build of npzoo has no CUDA support";
}

GpuTurn::GpuTurn() {
  check(
      !call_scopes.loop_of_capturing,
      "[gpu] found work for the GPU within a loop of a thread that captures a graph, expected it outside of the loop");
  turns().lock();
}
GpuTurn::~GpuTurn() { turns().unlock(); }

CaptureTurn::CaptureTurn() { call_scopes.capturing = true; }
CaptureTurn::~CaptureTurn() { call_scopes.capturing = false; }

GpuRuntime& gpu_runtime() { return selection().start(make_runtime); }

void use_unified_memory() {
  check(!selection().started(), "[device] unified memory must be chosen before the GPU is started");
  unified.store(true, std::memory_order_relaxed);
}

bool unified_memory() { return unified.load(std::memory_order_relaxed); }

}  // namespace npzoo
