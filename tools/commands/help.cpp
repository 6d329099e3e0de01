#include <fmt/core.h>

#include "tools/cli/command_line.h"

namespace npzoo {

namespace {

struct HelpCommand {
  std::vector<std::string> names;
  std::string text;
};

void add_flags(Flags& flags, HelpCommand& c) {
  flags.words("command", c.names, "its name; all commands where left out");
  flags.check_together([&c] { c.text = CommandLine(commands()).help(c.names); });
}

int run(const HelpCommand& c) {
  fmt::print("{}", c.text);
  return 0;
}

}  // namespace

extern const CommandInfo help_command = command<HelpCommand, add_flags, run>("Tell what a command does and takes.");

}  // namespace npzoo
