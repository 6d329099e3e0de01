#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/flags.h"

namespace npzoo {

/// ", did you mean 'train'?" for a word that is nearly one of `known`, else ", expected one of: …".
std::string expected_words(std::string_view word, const std::vector<std::string>& known);

/// The names of the commands that may follow, and of flags with the dashes before them.
std::vector<std::string> command_names(const Flags& flags);
std::vector<std::string> flag_names(const Flags& flags);

/// What a command line was found to lack or to have too much of.
struct UsageProblem {
  std::string what;                  // in one line
  std::vector<std::string> unknown;  // words that nothing takes
  bool missing = false, wrong_value = false;
};

/// What is wrong with a command line of the program that has these flags, in one line. What nobody knows is told of
/// before what is missing: it may be what is missing, misspelt.
std::string usage_error(const Flags& program, UsageProblem problem);

}  // namespace npzoo
