#pragma once

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

/// Describes the fault of a command line in one line. Unknown words come before missing ones: they may be misspelt.
std::string usage_error(const Flags& program, UsageProblem problem);

}  // namespace npzoo::tools
