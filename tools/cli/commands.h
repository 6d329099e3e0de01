#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/options.h"

namespace npzoo {

// One function per command. Each returns the exit status and throws Error with the one line that is then printed.

int run_command(const ListCommand& command);
int run_command(const DevicesCommand& command);
int run_command(const TrainCommand& command);
int run_command(const EvalCommand& command);
int run_command(const ExportCommand& command);
int run_command(const OracleCommand& command);
int run_command(const PredictCommand& command);
int run_command(const PlotCommand& command);
int run_command(const GradcheckCommand& command);
int run_command(const ParityCommand& command);
int run_command(const StreamCommand& command);
int run_command(const ReproduceCommand& command);
int run_command(const BenchTrainStepCommand& command);
int run_command(const BenchForwardCommand& command);
int run_command(const BenchDataCommand& command);
int run_command(const BenchScalingCommand& command);
int run_command(const BenchAttentionCommand& command);
int run_command(const CompletionCommand& command);

/// Applies the flags that every command shares.
void apply(const CommonOptions& common);

/// A file that a command line names; none where the path is empty.
struct NamedFile {
  std::string_view flag;
  std::filesystem::path path;
};

/// Before any work: throws Error where what a command is about to write would destroy what it reads, a state of
/// training, or another file that it writes, or where --json and a file would both go to standard output.
void check_outputs(std::string_view command, const CommonOptions& common, const std::vector<NamedFile>& outputs,
                   const std::vector<NamedFile>& inputs);

/// For messages: names out of files from strangers may hold line ends and escape sequences, and a word of many hundred
/// characters hides what is said of it.
std::string one_line(std::string text);

/// "npzoo: error: …" on standard error, in one line. Throws nothing but std::bad_alloc.
void print_error(std::string_view message);

/// One line on standard error where there were any (see random_feature_attention.h).
void warn_of_clamped_denominators(std::int64_t count);

}  // namespace npzoo
