#include <algorithm>

#include "npzoo/engine/measure/flops.h"
#include "tools/bench/steps.h"
#include "tools/cli/command.h"
#include "tools/cli/progress.h"

namespace npzoo::tools {

namespace {

struct BenchTrainStepCommand : ModelBench {
  bool profile = false;
};

void add_flags(Flags& flags, BenchTrainStepCommand& c) {
  add_flags(flags, c, "updates");
  flags.toggle("--profile", c.profile, "prints the time of each operation");
}

/// A step that was captured on a GPU counts neither its work nor its memory when it is repeated: they are those of a
/// step that is not captured, and of the peak until then as well.
void count_captured(TrainStep& step, const MemoryStats& until_then, Steps& s) {
  const std::int64_t before = counted_flops();
  StepProfile profile;
  step(&profile);
  s.gflop = static_cast<double>(counted_flops() - before) * 1e-9;
  s.memory.peak_live_bytes = std::max(s.memory.peak_live_bytes, until_then.peak_live_bytes);
  s.memory.peak_reserved_bytes = std::max(s.memory.peak_reserved_bytes, until_then.peak_reserved_bytes);
}

int run(const BenchTrainStepCommand& c) {
  apply(c.common);
  const Protocol protocol = load_protocol(c.bench.protocol);
  TrainStep step(protocol, c.bench);
  Progress progress("warm-up", c.counts.warmup);
  for (std::int64_t i = 0; i < c.counts.warmup; progress.update(++i)) step();
  progress.finish();
  const MemoryStats warm = memory_stats(default_device());
  StepProfile profile;
  Steps steps = measure({c.counts.steps, 0}, [&] { static_cast<void>(step(c.profile ? &profile : nullptr)); });
  if (default_device() == Device::cuda) count_captured(step, warm, steps);
  report(c, "step", protocol, step.task(), steps, c.profile ? &profile : nullptr);
  return 0;
}

}  // namespace

extern const CommandInfo bench_train_step_command =
    command<BenchTrainStepCommand, add_flags, run>("Time and memory of one update in training.", CommandGroup::check,
                                                   "npzoo bench train-step --protocol quick/gp1d --model tnp-d");

}  // namespace npzoo::tools
