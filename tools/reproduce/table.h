#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/ranks/job.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"

namespace npzoo::tools {

/// Options of `npzoo reproduce`.
struct ReproduceOptions {
  CommonOptions common;
  std::string table;                // a protocol, by name or path
  std::vector<std::string> models;  // empty: those that the table has
  std::vector<std::uint64_t> seeds{0};
  std::filesystem::path out = "runs", results = "perf/results";
  std::optional<std::int64_t> steps, batches;
  std::optional<int> jobs;
  std::string shard;  // as it was written; empty: all runs
  bool report = false;
};

/// One of several equal parts of the runs, from 0 on.
struct Shard {
  std::int64_t index = 0, count = 1;

  bool has(std::size_t run) const { return static_cast<std::int64_t>(run) % count == index; }
};

/// Reads --shard, such as 2/4 for the second of four. An empty text means the whole.
Shard read_shard(const std::string& text);

/// Progress of one model with one seed.
struct RunEnd {
  std::string model;
  std::uint64_t seed = 0;
  std::int64_t steps = 0;  // updates so far
  bool done = false;       // trained and evaluated
  bool elsewhere = false;  // another process works on it; set by `look_at_runs` alone
  std::string error;       // one line; empty unless the run failed
};

/// Result of `reproduce_table`.
struct TableEnd {
  Protocol protocol;  // with the number of steps that was asked for
  std::int64_t batches = 0;
  bool shortened = false;      // by --steps or --batches: its figures are no results
  bool interrupted = false;    // then the same command goes on
  std::vector<RunEnd> runs{};  // of this part; none with --report
  JsonValue store{};           // null for a part of the runs, and where another rank leads
};

/// Reads the progress of the runs. Runs nothing.
std::vector<RunEnd> look_at_runs(const ReproduceOptions& options);

/// Trains and evaluates the runs of a table that have no results, and collects their results. With `report` it only
/// reads collected results. Throws Error for wrong options. A failed run is no Error: its `error` is set.
TableEnd reproduce_table(const ReproduceOptions& options, Job& job);

}  // namespace npzoo::tools
