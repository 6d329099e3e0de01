#include "tools/cli/own_program.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace npzoo::tools {

namespace {

OwnProgram& the_program() {
  static OwnProgram program;
  return program;
}

std::vector<std::string>& the_words() {
  static std::vector<std::string> words;
  return words;
}

/// A word as a shell takes it.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%^";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

void set_command_line(int argc, const char* const* argv) { the_words().assign(argv + std::min(argc, 1), argv + argc); }

const std::vector<std::string>& command_words() { return the_words(); }

std::string command_line_with(const std::string& flags) {
  std::string line = "npzoo";
  for (const std::string& word : the_words())
    if (word != "--explain") line += ' ' + shell_word(word);
  return line + ' ' + flags;
}

const OwnProgram& own_program() { return the_program(); }

void set_own_program(OwnProgram program) { the_program() = std::move(program); }

}  // namespace npzoo::tools
