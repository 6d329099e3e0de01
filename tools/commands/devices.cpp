#include <fmt/core.h>

#include "npzoo/engine/cpu/context.h"
#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"

namespace npzoo::tools {

namespace {

struct DevicesCommand {
  CommonOptions common;
};

void add_flags(Flags& flags, DevicesCommand& c) { add_flags(flags, c.common); }

JsonValue to_json(const std::vector<GpuInfo>& gpus) {
  JsonValue rows = JsonValue::array();
  rows.push_back(
      JsonValue::object({{"device", "cpu"}, {"isa", to_string(active_isa())}, {"threads", thread_pool().threads()}}));
  for (const GpuInfo& gpu : gpus)
    rows.push_back(JsonValue::object({{"device", "cuda"},
                                      {"name", gpu.name},
                                      {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
                                      {"multiprocessors", gpu.multiprocessors},
                                      {"memory_bytes", gpu.memory_bytes},
                                      {"driver_cuda", gpu.driver}}));
  if (kHasEmulator) rows.push_back(JsonValue::object({{"device", "emulated"}}));
  return rows;
}

int run(const DevicesCommand& c) {
  apply(c.common);
  const std::vector<GpuInfo> gpus = list_gpus();
  if (c.common.json) {
    print_json(to_json(gpus));
    return 0;
  }
  fmt::print("cpu       {} thread(s), {}\n", thread_pool().threads(), to_string(active_isa()));
  for (const GpuInfo& gpu : gpus)
    fmt::print("cuda      {}, compute capability {}.{}, {} multiprocessors, {:.1f} GB, driver for CUDA {}\n", gpu.name,
               gpu.major, gpu.minor, gpu.multiprocessors, static_cast<double>(gpu.memory_bytes) * 1e-9, gpu.driver);
  if (kHasEmulator) fmt::print("emulated  the CUDA kernels on the CPU: slow, to check them where there is no GPU\n");
  if (gpus.empty()) fmt::print("{}\n", why_no_gpu());
  return 0;
}

}  // namespace

extern const CommandInfo devices_command = command<DevicesCommand, add_flags, run>(
    "List what --device can name on this machine.", CommandGroup::check, "npzoo devices");

}  // namespace npzoo::tools
