#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/cli/flags.h"

namespace npzoo {

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

/// Measures the subjects one after the other at every size.
///
/// Returns one object for each subject and size: model, protocol, device, isa, threads, nc, nt, status ("ok", or "oom"
/// where memory was refused), repeats, median_ms, p10_ms, p90_ms, gflops, share_of_peak (null where status is oom), and
/// the peaks of memory of that size alone (up to the refusal, where it came to one).
nlohmann::json measure_scaling(const std::vector<ScalingSubject>& subjects, const ScalingOptions& sizes);

/// The same as a table for people.
void print_scaling(const nlohmann::json& rows);

}  // namespace npzoo
