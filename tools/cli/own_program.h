#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace npzoo::tools {

/// How to start this program again: a file, and the words that stand before the command.
struct OwnProgram {
  std::filesystem::path file = "/proc/self/exe";  // even if the file was replaced meanwhile
  std::vector<std::string> words = {"npzoo"};     // the name that it is called by, then any words
};

const OwnProgram& own_program();
/// For a process that runs the program inside an interpreter. Not while other threads ask.
void set_own_program(OwnProgram program);

/// The command line of this process without its first word, for messages that lead on.
void set_command_line(int argc, const char* const* argv);
const std::vector<std::string>& command_words();
/// The same command with more flags, as a shell takes it: "npzoo predict 'my file.csv' --horizon 12".
/// Without --explain, which does nothing.
std::string command_line_with(const std::string& flags);

}  // namespace npzoo::tools
