#include <cstdlib>

#include "tools/cli/own_program.h"
#include "tools/program.h"

int main(int argc, char** argv) {
  // Only an emulator's script (tools/emulated) sets this: the kernel cannot start the file of a program for another
  // processor.
  if (const char* script = std::getenv("NPZOO_STARTED_BY")) npzoo::tools::set_own_program({.file = script});
  return npzoo::tools::run_npzoo(argc, argv);
}
