#pragma once

#include <functional>

#include "npzoo/engine/memory.h"
#include "tools/bench/cases.h"
#include "tools/bench/support.h"
#include "tools/cli/common_options.h"

namespace npzoo::tools {

/// Options of commands that repeat one step.
struct StepCounts {
  std::int64_t steps = 200, warmup = 20;
};
/// `what` is what is timed.
void add_flags(Flags& flags, StepCounts& counts, const std::string& what);

/// Options of `bench train-step` and `bench forward`.
struct ModelBench {
  CommonOptions common;
  BenchCase bench;
  StepCounts counts;
};
void add_flags(Flags& flags, ModelBench& c, const std::string& what);

struct Steps {
  Timings wall, cpu;
  double gflop = 0;  // of one step
  MemoryStats memory;
};

/// Repeats `step`, the first times without counting them.
Steps measure(const StepCounts& counts, const std::function<void()>& step);

/// Returns the report on steps that make or use batches of a protocol.
JsonValue to_json(const Protocol& protocol, std::int64_t batch, const Steps& steps);
void print_times(const char* what, const Steps& steps);
void print_memory(const Steps& steps);

/// Prints what a model does to `task`, with where its time goes where there is a profile.
void report(const ModelBench& c, const char* what, const Protocol& protocol, const Task& task, const Steps& steps,
            const StepProfile* profile = nullptr);

}  // namespace npzoo::tools
