#pragma once

namespace npzoo::tools {

/// Runs the program with its command line, the name of the program first, and returns the exit status. It reads and
/// writes the standard streams, and it handles signals from then on: only a process that is this program may call it.
int run_npzoo(int argc, const char* const* argv);

}  // namespace npzoo::tools
