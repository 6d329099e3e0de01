#include <fmt/core.h>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/safetensors_header.h"
#include "tools/cli/candidates.h"
#include "tools/cli/command_line.h"
#include "tools/cli/json_value.h"
#include "tools/cli/man_page.h"
#include "tools/reports/protocol_keys.h"

namespace npzoo::tools {

namespace {

struct HelpCommand {
  std::vector<std::string> names;
  bool man = false, json = false;
  std::string text;
};

bool is_about_protocols(const HelpCommand& c) { return !c.names.empty() && c.names[0] == kProtocolTopic; }

void add_flags(Flags& flags, HelpCommand& c) {
  flags.words("command", c.names,
              "its name, or protocol [KIND, TRIAL or MODEL] for the keys of protocols; all commands if missing");
  flags.toggle("--man", c.man, "as a page of the manual: npzoo help --man train | man -l -");
  flags.toggle("--json", c.json, "with protocol: as JSON");
  flags.check_together([&c] {
    if (is_about_protocols(c)) {
      check(c.names.size() <= 2, "{} found after protocol, expected one name at most", excerpt(c.names.back()));
      check(!c.man, "--man found with protocol, expected a command");
      return;
    }
    check(!c.json, "--json found, expected it after protocol");
    const CommandLine line(commands());
    c.text = line.help(c.names);  // throws Error if there is no such command
    if (c.man) c.text = man_page(line.flags(), c.names);
  });
}

int run(const HelpCommand& c) {
  if (!is_about_protocols(c)) {
    fmt::print("{}", c.text);
    return 0;
  }
  const std::string name = c.names.size() > 1 ? c.names[1] : "";
  if (c.json)
    print_json(protocol_keys_json(name));
  else
    fmt::print("{}", protocol_keys_text(name));
  return 0;
}

}  // namespace

extern const CommandInfo help_command = command<HelpCommand, add_flags, run>(
    "Explain a command, or the keys of protocols.", CommandGroup::look_up, "npzoo help predict");

}  // namespace npzoo::tools
