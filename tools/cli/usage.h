#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/cli/flags.h"

namespace npzoo::tools {

/// The names of the commands that may follow, and of flags with the dashes before them.
std::vector<std::string> command_names(const Flags& flags);
std::vector<std::string> flag_names(const Flags& flags);

/// A fault of a command line.
struct UsageProblem {
  std::string what;                  // in one line
  std::vector<std::string> unknown;  // words that nothing takes
  bool wrong_value = false;
};

/// "; lists have commas: --quantiles 0.1,0.9" if one of these words of the command line stands behind the value of a
/// flag that takes a list; empty otherwise.
std::string split_list_hint(const Flags& command, std::span<const std::string> line,
                            std::span<const std::string> words);

/// Describes the fault of a command line in one line. Unknown words come before missing ones: they may be misspelt.
std::string usage_error(const Flags& program, UsageProblem problem);

}  // namespace npzoo::tools
