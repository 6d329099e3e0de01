#include <fmt/core.h>

#include "npzoo/engine/config.h"
#include "tools/cli/command.h"

namespace npzoo::tools {

namespace {

struct VersionCommand {};

void add_flags(Flags&, VersionCommand&) {}

int run(const VersionCommand&) {
  fmt::print("npzoo {}\n", kVersion);
  return 0;
}

}  // namespace

extern const CommandInfo version_command =
    command<VersionCommand, add_flags, run>("Print the version.", CommandGroup::look_up, "npzoo version");

}  // namespace npzoo::tools
