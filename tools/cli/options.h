#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace npzoo {

/// Flags that mean the same in every command.
struct CommonOptions {
  std::string device = "cpu";
  std::string precision = "float32";
  int threads = 0;  // 0: one per core
  bool json = false;
};

struct ListCommand {
  CommonOptions common;
  std::string what = "models";
};

struct DevicesCommand {
  CommonOptions common;
};

struct TrainCommand {
  CommonOptions common;
  std::string protocol, model;
  std::optional<std::int64_t> steps, batch, validation_batches;
  std::optional<double> lr;
  std::uint64_t seed = 0;
  std::filesystem::path out;
  bool resume = false;
  std::int64_t checkpoint_every = 0;
};

struct EvalCommand {
  CommonOptions common;
  std::string checkpoint;  // path or name, as in every command
  std::string protocol;    // empty: the one it was trained under
  std::optional<std::int64_t> batches;
  std::optional<std::uint64_t> seed;
};

struct OracleCommand {
  CommonOptions common;
  std::string protocol;
  std::vector<std::string> tests;  // empty: all
  std::int64_t tasks = 6000;
  std::optional<std::uint64_t> seed;
  int nodes = 8;
};

struct ExportCommand {
  CommonOptions common;
  std::string checkpoint;
  std::filesystem::path evaluation, out;  // no evaluation: the file beside the checkpoint
  bool unfinished = false;                // whether a training that has not ended will do
};

struct PredictCommand {
  CommonOptions common;
  std::string checkpoint;
  std::filesystem::path context, targets, out;
  std::filesystem::path plot;  // empty: no picture
  bool as_is = false;          // no standardisation
  std::int64_t chunk = 4096;
};

struct PlotCommand {
  CommonOptions common;
  std::string checkpoint;
  std::filesystem::path out;
  std::string protocol;
  std::uint64_t seed = 0;
  int tasks = 2;
};

struct GradcheckCommand {
  CommonOptions common;
  std::vector<std::string> ops;
};

struct ParityCommand {
  CommonOptions common;
  std::vector<std::filesystem::path> files;
};

struct StreamCommand {
  CommonOptions common;
  std::string checkpoint;
  std::filesystem::path context, targets, out;
  std::int64_t every = 0;  // context rows between answers, 0: one answer at the end
  std::int64_t chunk = 4096;
};

struct ReproduceCommand {
  CommonOptions common;
  std::string table;
  std::vector<std::string> models;  // empty: those that the table has
  std::vector<std::uint64_t> seeds{0};
  std::filesystem::path out = "runs", results = "perf/results";
  std::optional<std::int64_t> steps, batches;
  std::optional<int> jobs;
  bool report = false;
};

/// A model, a batch of one fixed size and the seed of both. Sizes that are not given are the typical ones of the
/// protocol: its batch, and as context the middle of the range of sizes; where targets are further points, half of all
/// points, or the size in that range which is nearest.
struct BenchCase {
  std::string protocol, model;
  std::optional<std::int64_t> batch, context, targets;
  std::uint64_t seed = 0;
};

/// What `bench train-step` and `bench forward` have in common.
struct BenchModelCommand {
  CommonOptions common;
  BenchCase bench;
  std::int64_t steps = 200, warmup = 20;
};

struct BenchTrainStepCommand : BenchModelCommand {
  bool profile = false;
};
struct BenchForwardCommand : BenchModelCommand {};

struct BenchDataCommand {
  CommonOptions common;
  std::string protocol;
  std::int64_t steps = 200, warmup = 20;
  std::optional<std::int64_t> batch;
  std::uint64_t seed = 0;
};

/// Sizes of tasks to measure.
struct ScalingOptions {
  std::string vary = "test";  // or context
  std::vector<std::int64_t> points{1, 10, 100, 1000, 10'000};
  std::int64_t fixed = 100;  // points of the other kind
  std::int64_t repeats = 20;
  std::int64_t memory_limit = 0;  // bytes, 0: none
  std::uint64_t seed = 0;
};

struct BenchScalingCommand {
  CommonOptions common;
  std::vector<std::string> models;
  std::string protocol;  // empty: one that has a preset of the model
  ScalingOptions sizes;
};

struct BenchAttentionCommand {
  CommonOptions common;
  std::optional<std::int64_t> queries, keys, heads, width, batch;
  std::optional<std::string> mask;
  std::int64_t repeats = 20;
};

struct CompletionCommand {
  std::string shell;
  std::string script;
};

using Command =
    std::variant<ListCommand, DevicesCommand, TrainCommand, EvalCommand, OracleCommand, ExportCommand, PredictCommand,
                 PlotCommand, GradcheckCommand, ParityCommand, StreamCommand, ReproduceCommand, BenchTrainStepCommand,
                 BenchForwardCommand, BenchDataCommand, BenchScalingCommand, BenchAttentionCommand, CompletionCommand>;

/// Parses the command line, or prints help or what is wrong with it; then `exit_code` is set and there is no command.
struct ParsedOptions {
  std::optional<Command> command;
  int exit_code = 0;
};
ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace npzoo
