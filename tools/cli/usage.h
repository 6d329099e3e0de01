#pragma once

#include <string>
#include <vector>

#include "tools/cli/flags.h"

namespace npzoo {

/// The names of the commands that may follow, and of flags with the dashes before them.
std::vector<std::string> command_names(const Flags& flags);
std::vector<std::string> flag_names(const Flags& flags);

/// What a command line was found to lack or to have too much of.
struct UsageProblem {
  std::string what;                  // in one line
  std::vector<std::string> unknown;  // words that nothing takes
  bool wrong_value = false;
};

/// What is wrong with a command line of the program that has these flags, in one line. What nobody knows is told of
/// before what is missing: it may be what is missing, misspelt.
std::string usage_error(const Flags& program, UsageProblem problem);

}  // namespace npzoo
