#include "tools/program.h"

#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/memory.h"
#include "tools/cli/command_line.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/messages.h"
#include "tools/cli/own_program.h"

namespace npzoo::tools {

namespace {

/// A standard stream that was closed would give its number to the next file opened, and that file would get what is
/// printed. Writing to the stand-in of standard output fails, as it should; messages go nowhere.
void reserve_standard_streams() {
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) == -1) static_cast<void>(::open("/dev/null", kModes[fd]));
}

int report(const std::exception& e) {
  print_error(e.what());
  return 1;
}

void flush_standard_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  if (errno == EPIPE) throw BrokenPipe("[<stdout>] cannot write: its reader is gone");
  fail("[npzoo] standard output cannot be written");
}

/// Ends silently by the signal, as programs in a pipeline do without a reader; where SIGPIPE was ignored from the
/// start, with an error.
int end_unread(void (*on_broken_pipe)(int), const std::exception& e) {
  std::signal(SIGPIPE, on_broken_pipe);
  std::raise(SIGPIPE);
  return report(e);
}

/// Without allocating anything.
int no_memory(const char* what) {
  std::fprintf(stderr, "npzoo: error: [memory] %s; tensors use %lld bytes\n", what,
               static_cast<long long>(memory_stats().live_bytes));
  return 1;
}

}  // namespace

int run_npzoo(int argc, const char* const* argv) {
  reserve_standard_streams();
  set_command_line(argc, argv);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that would grow too large is an error like a full disk
  end_tidily_on_signals();
  // Nobody may be reading the progress of what goes to a file: that goes on.
  const auto on_broken_pipe = std::signal(SIGPIPE, SIG_IGN);
  try {
    const int status = CommandLine(commands()).run(argc, argv);
    flush_standard_output();
    return status;
  } catch (const BrokenPipe& e) {
    return end_unread(on_broken_pipe, e);
  } catch (const std::system_error& e) {
    return e.code() == std::errc::broken_pipe ? end_unread(on_broken_pipe, e) : report(e);
  } catch (const std::bad_alloc&) {
    return no_memory("the system is out of memory");
  } catch (const std::length_error&) {
    return no_memory("an array has more elements than memory can hold");
  } catch (const std::exception& e) {
    return report(e);
  }
}

}  // namespace npzoo::tools
