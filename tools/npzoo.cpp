#include <fcntl.h>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <variant>

#include "engine/error.h"
#include "tools/commands.h"

namespace {

/// A standard stream that was closed would give its number to the next file opened, and that file would get what is
/// printed. Writing to the stand-in of standard output fails, as it should; messages go nowhere.
void reserve_standard_streams() {
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) == -1) static_cast<void>(::open("/dev/null", kModes[fd]));
}

}  // namespace

int main(int argc, char** argv) {
  reserve_standard_streams();
  try {
    const npzoo::ParsedOptions options = npzoo::parse_options(argc, argv);
    const auto run = [](const auto& command) { return npzoo::run_command(command); };
    const int status = options.command ? std::visit(run, *options.command) : options.exit_code;
    npzoo::check(std::fflush(stdout) == 0 && std::ferror(stdout) == 0, "[npzoo] standard output cannot be written");
    return status;
  } catch (const std::exception& e) {
    std::fputs(fmt::format("npzoo: error: {}\n", npzoo::one_line(e.what())).c_str(), stderr);  // must not throw
    return 1;
  }
}
