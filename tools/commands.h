#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tools/options.h"

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

/// Throws Error where --json and a table would both go to standard output.
void check_output(std::string_view command, const CommonOptions& common, const std::filesystem::path& out);

/// For messages: names out of files from strangers may hold line ends and escape sequences.
std::string one_line(std::string text);

/// One line on standard error where there were any (see random_feature_attention.h).
void warn_of_clamped_denominators(std::int64_t count);

}  // namespace npzoo
