#include "tools/cli/own_program.h"

#include <utility>

namespace npzoo::tools {

namespace {

OwnProgram& the_program() {
  static OwnProgram program;
  return program;
}

}  // namespace

const OwnProgram& own_program() { return the_program(); }

void set_own_program(OwnProgram program) { the_program() = std::move(program); }

}  // namespace npzoo::tools
