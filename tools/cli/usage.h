#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace npzoo {

/// ", did you mean 'train'?" for a word that is nearly one of `known`, else ", expected one of: …".
std::string expected_words(std::string_view word, const std::vector<std::string>& known);

/// Throws CLI::ArgumentMismatch for "--flag=", which CLI11 takes for a flag whose value is the next argument.
void check_values_given(int argc, const char* const* argv);

/// The names of the commands of `app`, and of its flags with the dashes before them.
std::vector<std::string> command_names(const CLI::App& app);
std::vector<std::string> flag_names(const CLI::App& app);

/// What is wrong with a command line, in one line. What nobody knows is told of before what is missing: it may be what
/// is missing, misspelt.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace npzoo
