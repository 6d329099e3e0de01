#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/support.h"
#include "tools/cli/flags.h"

namespace npzoo::tools {

/// Sizes of tasks to measure.
struct ScalingOptions {
  std::string vary = "test";  // or context
  std::vector<std::int64_t> points{1, 10, 100, 1000, 10'000};
  std::int64_t fixed = 100;  // points of the other kind
  std::int64_t repeats = 20;
  std::int64_t memory_limit = 0;  // bytes, 0: none
  std::uint64_t seed = 0;
};
void add_flags(Flags& flags, ScalingOptions& sizes);

/// Predicts at `nt` targets from `nc` context points, all of them random; milliseconds that the model took of it.
using PredictMs = std::function<double(std::int64_t nc, std::int64_t nt)>;

/// A model whose predictions are measured. It is loaded when its turn comes and dropped before the next one's, so that
/// models do not count as each other's memory.
struct ScalingSubject {
  std::string model, protocol;
  std::function<PredictMs()> load;
};

struct PredictionSpeed {
  Timings timings;
  double gflops = 0, share_of_peak = 0;
};

/// One subject at one size. No speed where memory was refused; the peaks are then those up to the refusal.
struct ScalingRow {
  std::string model, protocol;
  std::int64_t nc = 0, nt = 0;
  std::optional<PredictionSpeed> speed;
  MemoryPeaks memory;
};

/// Measures the subjects one after the other at every size, and the peaks of memory of that size alone.
std::vector<ScalingRow> measure_scaling(const std::vector<ScalingSubject>& subjects, const ScalingOptions& sizes);

/// One object for each row: model, protocol, device, isa, threads, nc, nt, status ("ok", or "oom" where memory was
/// refused), repeats, median_ms, p10_ms, p90_ms, gflops, share_of_peak (null where status is oom), and the peaks.
JsonValue to_json(const std::vector<ScalingRow>& rows);

/// The same as a table for people.
void print_scaling(const std::vector<ScalingRow>& rows);

}  // namespace npzoo::tools
