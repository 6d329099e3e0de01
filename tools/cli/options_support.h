#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/cli/options.h"

namespace npzoo {

// What the definitions of the commands' flags share.

void add_common(CLI::App& app, CommonOptions& common);
/// A command with the flags that mean the same everywhere.
CLI::App& subcommand(CLI::App& app, const std::string& name, const std::string& what, CommonOptions& common);

void add_sizes(CLI::App& app, ScalingOptions& sizes);

/// The flags of `npzoo bench`, which has commands of its own.
struct BenchCommands {
  BenchTrainStepCommand train_step;
  BenchForwardCommand forward;
  BenchDataCommand data;
  BenchScalingCommand scaling;
  BenchAttentionCommand attention;

  /// The one that was parsed.
  Command chosen(const CLI::App& app) const;
};
void add_bench(CLI::App& app, BenchCommands& c);

}  // namespace npzoo
