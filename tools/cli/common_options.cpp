#include "tools/cli/common_options.h"

#include <fmt/core.h>

#include <cstdio>
#include <string_view>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/measure/machine.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/engine/precision.h"
#include "npzoo/engine/ranks/launcher.h"

namespace npzoo::tools {

namespace {

void warn_of_fewer_threads(int asked) {
  const int found = thread_pool().threads();
  if (found >= asked) return;
  const std::string reason = found == most_threads()
                                 ? fmt::format("more would only wait for the {} core(s)", usable_cores())
                                 : "the system starts no more";
  fmt::print(stderr, "npzoo: warning: [threads] {} instead of {}: {}\n", found, asked, reason);
}

/// Under a launcher each process of a host takes one of its GPUs in turn, unless it names one.
std::string device_of_rank(const std::string& name) {
  const auto launcher = find_launcher();
  if (!launcher || !launcher->local_rank || (name != "cuda" && name != "auto")) return name;
  const auto gpus = static_cast<int>(list_gpus().size());
  return gpus == 0 ? name : fmt::format("cuda:{}", *launcher->local_rank % gpus);
}

/// Returns the text if it has the form of a device's name. Throws Error otherwise.
std::string parse_device_flag(const std::string& text) {
  constexpr std::string_view kIndexed = "cuda:", kDigits = "0123456789";
  constexpr std::size_t kMostDigits = 4;
  const bool indexed = text.starts_with(kIndexed) && text.size() > kIndexed.size() &&
                       text.size() <= kIndexed.size() + kMostDigits &&
                       text.find_first_not_of(kDigits, kIndexed.size()) == std::string::npos;
  return indexed ? text : parse_choice(text, {"cpu", "cuda", "cuda:INDEX", "auto", "emulated"});
}

}  // namespace

void add_flags(Flags& flags, CommonOptions& common) {
  flags
      .call(
          "--device", [&common](const std::string& text) { common.device = parse_device_flag(text); },
          "where to compute: cpu, cuda, cuda:INDEX (one of several GPUs), auto (cuda if there is one) or emulated "
          "(CUDA kernels on the CPU, slow) (default: cpu)")
      .with_choices({"cpu", "cuda", "auto", "emulated"})
      .common();
  flags
      .choice("--precision", common.precision, {"float32", "tf32", "bf16"},
              "precision of matrix products: float32 (tf32 and bf16 need CUDA)")
      .common();
  flags.whole("--threads", common.threads, {0}, "threads; 0: one per usable core. Results do not depend on it")
      .common();
  flags.toggle("--json", common.json, "print the result as JSON on standard output, and nothing else there").common();
}

Flag add_optional_checkpoint(Flags& flags, std::string& checkpoint, const std::string& otherwise) {
  return flags.text(
      "--checkpoint", checkpoint,
      "trained weights: a name (see: npzoo list weights) or a file that train or export wrote" + otherwise);
}

void add_checkpoint(Flags& flags, std::string& checkpoint) { add_optional_checkpoint(flags, checkpoint).required(); }

void add_data(Flags& flags, std::string& data) {
  flags.text(
      "--data", data,
      "folder with published data sets, each in a folder of its own: mnist, emnist, cifar10, celeba, ett and others "
      "(default: the folder that NPZOO_DATA names)");
}

Flag add_flags(Flags& flags, ProtocolOptions& protocol, const std::string& help, const char* flag) {
  const Flag named = flags.text(flag, protocol.name, help);
  flags.repeated(
      "--set", protocol.changes,
      "change one key of the protocol, as TOML has it: data.points=100, training.keep=\"last\"; once for each");
  return named;
}

Protocol load_protocol(const ProtocolOptions& options) {
  return with_changes(load_protocol(options.name), options.changes);
}

Protocol load_protocol(const ProtocolOptions& options, const Protocol& own) {
  return options.name.empty() ? with_changes(own, options.changes) : load_protocol(options);
}

void apply(const CommonOptions& common) {
  const Precision precision = parse_precision(common.precision);
  static_cast<void>(active_isa());
  set_threads(common.threads);
  warn_of_fewer_threads(common.threads == 0 ? usable_cores() : common.threads);
  const Device device = select_device(device_of_rank(common.device));
  check(device == Device::cuda || precision == Precision::float32,
        "[precision] {} needs a CUDA device; the CPU computes in float32", common.precision);
  set_matmul_precision(precision);
}

}  // namespace npzoo::tools
