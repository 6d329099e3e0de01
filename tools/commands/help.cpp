#include <fmt/core.h>

#include "tools/cli/command_line.h"
#include "tools/cli/man_page.h"

namespace npzoo {

namespace {

struct HelpCommand {
  std::vector<std::string> names;
  bool man = false;
  std::string text;
};

void add_flags(Flags& flags, HelpCommand& c) {
  flags.words("command", c.names, "its name; all commands where left out");
  flags.toggle("--man", c.man, "as a page of the manual: npzoo help --man train | man -l -");
  flags.check_together([&c] {
    const CommandLine line(commands());
    c.text = line.help(c.names);  // or else tells of a command that there is not
    if (c.man) c.text = man_page(line.flags(), c.names);
  });
}

int run(const HelpCommand& c) {
  fmt::print("{}", c.text);
  return 0;
}

}  // namespace

extern const CommandInfo help_command = command<HelpCommand, add_flags, run>("Tell what a command does and takes.");

}  // namespace npzoo
