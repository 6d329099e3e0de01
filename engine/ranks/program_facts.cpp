#include "npzoo/engine/ranks/program_facts.h"

#include "npzoo/engine/cpu/context.h"
#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/device.h"
#include "npzoo/engine/io/byte_hash.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/own_file.h"
#include "npzoo/engine/precision.h"

namespace npzoo {

namespace {

/// Programs with symbols may be large.
void add_file(const std::filesystem::path& path, ByteHash& hash) {
  ReadOnlyFile file(path);
  std::vector<std::byte> part(std::size_t{1} << 20);
  while (const std::size_t count = file.read(part)) hash.add(part.data(), count);
}

/// Returns the digest of the program; a shared library that holds npzoo counts too.
std::string digest_of_program() {
  const std::filesystem::path program = std::filesystem::canonical("/proc/self/exe"), library = own_file();
  ByteHash hash;
  add_file(program, hash);
  if (!library.empty() && library != program) add_file(library, hash);
  return hash.digest();
}

}  // namespace

std::vector<Job::Fact> program_facts() {
  constexpr std::size_t kLongest = 63;
  const bool gpu = default_device() == Device::cuda;
  return {{"program", digest_of_program()},
          {"instruction set", std::string(to_string(active_isa()))},
          {"device", gpu ? gpu_runtime().info().name.substr(0, kLongest) : "cpu"},
          {"precision", std::string(to_string(matmul_precision()))}};
}

}  // namespace npzoo
