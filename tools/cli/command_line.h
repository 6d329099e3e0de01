#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/cli/command.h"
#include "tools/cli/flags.h"

namespace npzoo::tools {

/// The command line of a program with several commands, npzoo.
class CommandLine {
 public:
  explicit CommandLine(std::span<const NamedCommand> all);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  /// Runs the command and returns its exit status. Help, the version and, in one line, what is wrong with the command
  /// line are printed here; what the command throws is left to the caller.
  int run(int argc, const char* const* argv);

  /// Returns the flags of the program, and below them all commands.
  Flags flags() const { return Flags(*app_); }
  /// Returns the text of `--help` for the command with these names, or for the program if there are none. Throws Error
  /// if there is no such command.
  std::string help(const std::vector<std::string>& names) const;

 private:
  struct Entry {
    const CLI::App* app;
    std::unique_ptr<Command> command;
    Processes processes;
  };

  std::unique_ptr<CLI::App> app_;
  std::vector<Entry> commands_;
};

/// The same for a program that is one command.
int run_program(const std::string& name, const CommandInfo& info, int argc, const char* const* argv);

}  // namespace npzoo::tools
