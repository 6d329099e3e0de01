#include "tools/bench/steps.h"

#include <fmt/core.h>

#include <algorithm>

#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/parallel.h"
#include "tools/cli/progress.h"

namespace npzoo::tools {

namespace {

constexpr std::int64_t kMostStepPoints = 10'000'000;

/// A line of a profile, for one step.
struct Share {
  std::string name;
  const char* pass;
  std::int64_t calls;
  double ms, gflops;
};

/// Largest first; the last is what no operation and no optimiser has taken: waiting, and handing out work.
std::vector<Share> shares(const StepProfile& profile, const Steps& s, int threads) {
  const auto steps = static_cast<double>(s.wall.repeats);
  std::vector<Share> all;
  double rest = s.wall.mean_ms * threads;
  const auto add = [&](std::string name, const char* pass, const Profile::Cost& cost) {
    if (cost.calls == 0) return;
    all.push_back({std::move(name), pass, cost.calls / s.wall.repeats, cost.milliseconds / steps,
                   static_cast<double>(cost.flops) / cost.milliseconds * 1e-6});
    rest -= all.back().ms;
  };
  for (const auto& [name, passes] : profile.operations.operations()) {
    add(name, "forward", passes.forward);
    add(name, "backward", passes.backward);
  }
  add("optimiser", "", {s.wall.repeats, profile.optimiser_ms * threads, 0});
  std::ranges::sort(all, std::greater(), &Share::ms);
  all.push_back({"rest", "", 1, rest, 0});
  return all;
}

JsonValue to_json(const std::vector<Share>& profile) {
  JsonValue lines = JsonValue::array();
  for (const Share& share : profile)
    lines.push_back(JsonValue::object({{"operation", share.name},
                                       {"pass", share.pass},
                                       {"calls", share.calls},
                                       {"ms", share.ms},
                                       {"gflops", share.gflops}}));
  return lines;
}

void print_profile(const std::vector<Share>& profile, const Steps& s, int threads, double peak) {
  fmt::print("\n  {:<28} {:<8} {:>5} {:>10} {:>9} {:>9}   times of all threads together\n", "operation", "", "calls",
             "ms", "of time", "of peak");
  for (const Share& share : profile)
    fmt::print("  {:<28} {:<8} {:>5} {:>10.3f} {:>7.1f} % {:>9}\n", share.name, share.pass, share.calls, share.ms,
               100 * share.ms / (s.wall.mean_ms * threads),
               share.gflops > 0 ? fmt::format("{:.0f} %", 100 * share.gflops / (peak / threads)) : "");
}

}  // namespace

void add_flags(Flags& flags, StepCounts& counts, const std::string& what) {
  flags.whole("--steps", counts.steps, {1}, "timed " + what);
  flags.whole("--warmup", counts.warmup, {0}, what + " before");
}

void add_flags(Flags& flags, ModelBench& c, const std::string& what) {
  add_flags(flags, c.common);
  add_flags(flags, c.bench.protocol, "protocol of the data, the preset and the optimiser").required();
  flags.text("--model", c.bench.model, "name").required();
  add_flags(flags, c.counts, what);
  flags.whole("--batch", c.bench.batch, {1}, "tasks instead of the protocol's number");
  flags.whole("--context", c.bench.context, {0, kMostStepPoints},
              "context points of a task instead of a typical number");
  flags.whole("--targets", c.bench.targets, {1, kMostStepPoints},
              "target points of a task instead of a typical number");
  flags.seed("--seed", c.bench.seed, "seed of initial weights and data");
}

Steps measure(const StepCounts& counts, const std::function<void()>& step) {
  const auto [steps, warmup] = counts;
  Progress progress("bench", warmup + steps);
  std::int64_t done = 0;
  for (; done < warmup; progress.update(++done)) step();
  reset_peak_memory(default_device());
  const std::int64_t flops_before = counted_flops();
  std::vector<double> wall, cpu;
  for (std::int64_t i = 0; i < steps; ++i) {
    const double cpu_before = cpu_milliseconds();
    wall.push_back(milliseconds(step));
    cpu.push_back(cpu_milliseconds() - cpu_before);
    progress.update(++done);
  }
  progress.finish();
  const auto flops = static_cast<double>(counted_flops() - flops_before);
  return {summarise(std::move(wall)), summarise(std::move(cpu)), flops / static_cast<double>(steps) * 1e-9,
          memory_stats(default_device())};
}

JsonValue to_json(const Protocol& protocol, std::int64_t batch, const Steps& s) {
  JsonValue row = machine();
  row.update({{"protocol", protocol.name},
              {"batch", batch},
              {"steps", s.wall.repeats},
              {"median_ms", s.wall.median_ms},
              {"p10_ms", s.wall.p10_ms},
              {"p90_ms", s.wall.p90_ms},
              {"cpu_ms", s.cpu.median_ms},
              {"peak_live_bytes", s.memory.peak_live_bytes},
              {"peak_reserved_bytes", s.memory.peak_reserved_bytes}});
  return row;
}

void print_times(const char* what, const Steps& s) {
  fmt::print("  {:<8} {:.3f} ms median, {:.3f} p10, {:.3f} p90 over {} steps; {:.3f} ms of processor time\n", what,
             s.wall.median_ms, s.wall.p10_ms, s.wall.p90_ms, s.wall.repeats, s.cpu.median_ms);
}

void print_memory(const Steps& s) {
  fmt::print("  memory   {:.1f} MB live, {:.1f} MB reserved at the peak\n",
             static_cast<double>(s.memory.peak_live_bytes) * 1e-6,
             static_cast<double>(s.memory.peak_reserved_bytes) * 1e-6);
}

void report(const ModelBench& c, const char* what, const Protocol& protocol, const Task& task, const Steps& s,
            const StepProfile* profile) {
  const int threads = default_device() == Device::cpu ? thread_pool().threads() : 1;
  const double gflops = s.gflop / s.wall.median_ms * 1e3, peak = measured_peak_gflops();
  const std::int64_t batch = task.xt.dim(0), nc = task.xc.dim(1), nt = task.xt.dim(1);
  if (c.common.json) {
    JsonValue result = to_json(protocol, batch, s);
    result.update({{"model", c.bench.model},
                   {"nc", nc},
                   {"nt", nt},
                   {"gflop_per_step", s.gflop},
                   {"gflops", gflops},
                   {"peak_gflops", peak},
                   {"share_of_peak", gflops / peak}});
    if (profile) result.set("operations", to_json(shares(*profile, s, threads)));
    print_json(result);
    return;
  }
  fmt::print("{} on {}: batch {}, {} context and {} target points, {}\n", c.bench.model, protocol.name, batch, nc, nt,
             machine_in_words());
  print_times(what, s);
  fmt::print("  speed    {:.1f} GFLOP/s, {:.0f} % of the {:.1f} that this machine reaches\n", gflops,
             100 * gflops / peak, peak);
  print_memory(s);
  if (profile) print_profile(shares(*profile, s, threads), s, threads, peak);
}

}  // namespace npzoo::tools
