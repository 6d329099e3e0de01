#include <fmt/core.h>

#include "engine/cpu/context.h"
#include "engine/cpu/peak.h"
#include "engine/flops.h"
#include "engine/optim/schedule.h"
#include "engine/random.h"
#include "models/registry.h"
#include "models/training/batch_gradients.h"
#include "tools/bench_support.h"
#include "tools/commands.h"
#include "tools/commit.h"
#include "tools/json_output.h"

namespace npzoo {

namespace {

/// A batch of one fixed, typical size: half the points of a task are context where targets are further points, else the
/// middle of the range of context sizes.
Task typical_task(const GpDistribution& data, std::int64_t batch, std::uint64_t seed) {
  const bool disjoint = data.targets == GpDistribution::Targets::disjoint;
  std::int64_t grid = data.grid > 0 ? 1 : 0;
  for (std::int64_t axis = 0; axis < data.dims; ++axis) grid *= data.grid;
  const std::int64_t nc = disjoint ? data.points / 2 : (data.context.low + data.context.high - 1) / 2;
  const std::int64_t nt = disjoint ? data.points - nc : data.points + grid;
  Random random(seed);
  return {random_normal(random, {batch, nc, data.dims}),
          random_normal(random, {batch, nc, 1}),
          random_normal(random, {batch, nt, data.dims}),
          random_normal(random, {batch, nt, 1}),
          {}};
}

class TrainStep {
 public:
  TrainStep(const Protocol& protocol, const std::string& model, std::int64_t batch, std::uint64_t seed)
      : config_(protocol.training),
        model_(make_model(model_spec(protocol, model), {.seed = seed})),
        optimiser_(config_.optimiser, named_parameters(*model_)),
        gradients_(named_parameters(*model_)),
        task_(typical_task(protocol.data, batch, seed)) {}

  void operator()() {
    gradients_.compute(*model_, task_);
    optimiser_.step(gradients_.parts(), learning_rate(config_.schedule, config_.optimiser.lr, 0, config_.steps),
                    config_.clip_norm);
  }

  const Task& task() const { return task_; }

 private:
  const TrainingConfig& config_;
  std::unique_ptr<Model> model_;
  Optimiser optimiser_;
  BatchGradients gradients_;
  Task task_;
};

}  // namespace

int run_command(const BenchTrainStepCommand& c) {
  apply(c.common);
  const Protocol protocol = load_protocol(c.protocol);
  const std::int64_t batch = c.batch.value_or(protocol.training.batch_size);
  TrainStep step(protocol, c.model, batch, c.seed);
  for (std::int64_t i = 0; i < c.warmup; ++i) step();

  reset_peak_memory();
  const std::int64_t flops_before = counted_flops();
  std::vector<double> times;
  for (std::int64_t i = 0; i < c.steps; ++i) times.push_back(milliseconds([&step] { step(); }));
  const double flops = static_cast<double>(counted_flops() - flops_before) / static_cast<double>(c.steps);
  const Timings timings = summarise(std::move(times));
  const double gflops = flops / timings.median_ms * 1e-6;
  const int threads = thread_pool().threads();
  const double peak = measure_peak_gflops(threads);
  const MemoryStats memory = memory_stats();

  const nlohmann::json result = {{"model", c.model},
                                 {"protocol", protocol.name},
                                 {"device", c.common.device},
                                 {"isa", to_string(active_isa())},
                                 {"threads", threads},
                                 {"batch", batch},
                                 {"nc", step.task().xc.dim(1)},
                                 {"nt", step.task().xt.dim(1)},
                                 {"steps", c.steps},
                                 {"median_ms", timings.median_ms},
                                 {"p10_ms", timings.p10_ms},
                                 {"p90_ms", timings.p90_ms},
                                 {"gflop_per_step", flops * 1e-9},
                                 {"gflops", gflops},
                                 {"peak_gflops", peak},
                                 {"share_of_peak", gflops / peak},
                                 {"peak_live_bytes", memory.peak_live_bytes},
                                 {"peak_reserved_bytes", memory.peak_reserved_bytes},
                                 {"commit", kCommit}};
  if (c.common.json) {
    print_json(result);
    return 0;
  }
  fmt::print("{} on {}: batch {}, {} context and {} target points, {} thread(s), {}\n", c.model, protocol.name, batch,
             step.task().xc.dim(1), step.task().xt.dim(1), threads, to_string(active_isa()));
  fmt::print("  step     {:.3f} ms median, {:.3f} p10, {:.3f} p90 over {} steps\n", timings.median_ms, timings.p10_ms,
             timings.p90_ms, c.steps);
  fmt::print("  speed    {:.1f} GFLOP/s, {:.0f} % of the {:.1f} that this machine reaches\n", gflops,
             100 * gflops / peak, peak);
  fmt::print("  memory   {:.1f} MB live, {:.1f} MB reserved at the peak\n",
             static_cast<double>(memory.peak_live_bytes) * 1e-6,
             static_cast<double>(memory.peak_reserved_bytes) * 1e-6);
  return 0;
}

}  // namespace npzoo
