#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <variant>

#include "engine/error.h"
#include "tools/commands.h"

int main(int argc, char** argv) {
  try {
    const npzoo::ParsedOptions options = npzoo::parse_options(argc, argv);
    if (!options.command) return options.exit_code;
    const int status = std::visit([](const auto& command) { return npzoo::run_command(command); }, *options.command);
    npzoo::check(std::fflush(stdout) == 0, "[npzoo] standard output cannot be written");
    return status;
  } catch (const std::exception& e) {
    fmt::print(stderr, "npzoo: error: {}\n", e.what());
    return 1;
  }
}
