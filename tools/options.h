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

struct TrainCommand {
  CommonOptions common;
  std::string protocol, model;
  std::optional<std::int64_t> steps, batch;
  std::optional<double> lr;
  std::uint64_t seed = 0;
  std::filesystem::path out;
  bool resume = false;
  std::int64_t checkpoint_every = 0;
};

struct EvalCommand {
  CommonOptions common;
  std::filesystem::path checkpoint;
  std::string protocol;  // empty: the one it was trained under
  std::optional<std::int64_t> batches;
  std::optional<std::uint64_t> seed;
};

struct PredictCommand {
  CommonOptions common;
  std::filesystem::path checkpoint, context, targets, out;
  std::int64_t chunk = 4096;
};

struct PlotCommand {
  CommonOptions common;
  std::filesystem::path checkpoint, out;
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

struct BenchCommand {
  CommonOptions common;
  std::string what, protocol, model;
  std::int64_t steps = 200, warmup = 20;
  std::optional<std::int64_t> batch;
  std::uint64_t seed = 0;
};

struct CompletionCommand {
  std::string shell;
  std::string script;
};

using Command = std::variant<ListCommand, TrainCommand, EvalCommand, PredictCommand, PlotCommand, GradcheckCommand,
                             ParityCommand, BenchCommand, CompletionCommand>;

/// Parses the command line, or prints help or what is wrong with it; then `exit_code` is set and there is no command.
struct ParsedOptions {
  std::optional<Command> command;
  int exit_code = 0;
};
ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace npzoo
