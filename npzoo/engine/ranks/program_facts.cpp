#include "npzoo/engine/ranks/program_facts.h"

#include "npzoo/engine/cpu/context.h"
#include "npzoo/engine/io/byte_hash.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/own_file.h"

namespace npzoo {

namespace {

/// Programs with symbols may be large.
std::string digest_of(const std::filesystem::path& path) {
  ReadOnlyFile file(path);
  ByteHash hash;
  std::vector<std::byte> part(std::size_t{1} << 20);
  while (const std::size_t count = file.read(part)) hash.add(part.data(), count);
  return hash.digest();
}

}  // namespace

std::vector<Job::Fact> program_facts() {
  return {{"program", digest_of(own_file())}, {"instruction set", std::string(to_string(active_isa()))}};
}

}  // namespace npzoo
