#include "npzoo/engine/ranks/program_facts.h"

#include "npzoo/engine/cpu/context.h"
#include "npzoo/engine/io/byte_hash.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/own_file.h"

namespace npzoo {

std::vector<Job::Fact> program_facts() {
  ByteHash program;
  program.add(read_text(own_file()));
  return {{"program", program.digest()}, {"instruction set", std::string(to_string(active_isa()))}};
}

}  // namespace npzoo
