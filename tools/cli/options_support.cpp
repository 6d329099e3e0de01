#include "tools/cli/options_support.h"

#include "tools/cli/flags.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostPoints = 100'000'000;

}  // namespace

void add_common(CLI::App& app, CommonOptions& common) {
  add_choice(
      app, "--device", common.device, {"cpu", "cuda", "auto", "emulated"},
      "where to compute: cpu, cuda, auto (cuda where there is one) or emulated (CUDA's kernels on the CPU, slow)");
  add_choice(app, "--precision", common.precision, {"float32", "tf32", "bf16"},
             "of matrix products: float32 (tf32 and bf16 need CUDA)");
  add_whole(app, "--threads", common.threads, {0},
            "number of threads, 0 for one per usable core; results do not depend on it");
  add_switch(app, "--json", common.json, "print the result as JSON on standard output, and nothing else there");
}

CLI::App& subcommand(CLI::App& app, const std::string& name, const std::string& what, CommonOptions& common) {
  CLI::App& sub = *app.add_subcommand(name, what);
  sub.fallthrough();
  add_common(sub, common);
  return sub;
}

void add_sizes(CLI::App& app, ScalingOptions& sizes) {
  add_choice(app, "--vary", sizes.vary, {"test", "context"}, "which points grow in number: test or context");
  add_wholes(app, "--points", sizes.points, {1, kMostPoints, /*exponents=*/true},
             "how many of them, a list like 1,1000,1e6");
  add_whole(app, "--fixed", sizes.fixed, {0, kMostPoints}, "how many of the others");
  add_whole(app, "--repeats", sizes.repeats, {1},
            "timed repetitions of each size at most; fewer, but one, where they are long");
  add_bytes(app, "--memory-limit", sizes.memory_limit, "bytes that tensors may use, like 512MB or 1GB; 0 for no limit");
  add_seed(app, "--seed", sizes.seed, "of weights and points");
}

}  // namespace npzoo
