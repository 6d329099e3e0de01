#include <fmt/core.h>

#include "engine/cpu/context.h"
#include "engine/cuda/gpu.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_output.h"

namespace npzoo {

namespace {

using nlohmann::json;

struct DevicesCommand {
  CommonOptions common;
};

void add_flags(Flags& flags, DevicesCommand& c) { add_flags(flags, c.common); }

json list_devices() {
  json rows = json::array();
  rows.push_back({{"device", "cpu"}, {"isa", to_string(active_isa())}, {"threads", thread_pool().threads()}});
  for (const GpuInfo& gpu : list_gpus())
    rows.push_back({{"device", "cuda"},
                    {"name", gpu.name},
                    {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
                    {"multiprocessors", gpu.multiprocessors},
                    {"memory_bytes", gpu.memory_bytes},
                    {"driver_cuda", gpu.driver}});
  if (kHasEmulator) rows.push_back({{"device", "emulated"}});
  return rows;
}

void print(const json& row) {
  const auto text = [&row](const char* key) { return row.at(key).get<std::string>(); };
  const std::string device = text("device");
  if (device == "cpu")
    fmt::print("cpu       {} thread(s), {}\n", row.at("threads").get<int>(), text("isa"));
  else if (device == "cuda")
    fmt::print("cuda      {}, compute capability {}, {} multiprocessors, {:.1f} GB, driver for CUDA {}\n", text("name"),
               text("compute_capability"), row.at("multiprocessors").get<int>(),
               row.at("memory_bytes").get<double>() * 1e-9, text("driver_cuda"));
  else
    fmt::print("emulated  the CUDA kernels on the CPU: slow, to check them where there is no GPU\n");
}

int run(const DevicesCommand& c) {
  apply(c.common);
  const json rows = list_devices();
  if (c.common.json) {
    print_json(rows);
    return 0;
  }
  for (const json& row : rows) print(row);
  if (list_gpus().empty()) fmt::print("{}\n", why_no_gpu());
  return 0;
}

}  // namespace

extern const CommandInfo devices_command =
    command<DevicesCommand, add_flags, run>("List what --device can name on this machine.");

}  // namespace npzoo
