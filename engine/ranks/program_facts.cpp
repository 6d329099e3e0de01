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

/// Reads the file in pieces, since programs with symbols may be large.
void add_file(const std::filesystem::path& path, ByteHash& hash) {
  ReadOnlyFile file(path);
  std::vector<std::byte> part(std::size_t{1} << 20);
  while (const std::size_t count = file.read(part)) hash.add(part.data(), count);
}

}  // namespace

std::string program_digest(const std::filesystem::path& program, const std::filesystem::path& library) {
  std::error_code none;
  ByteHash hash;
  add_file(program, hash);
  if (!library.empty() && !std::filesystem::equivalent(program, library, none)) add_file(library, hash);
  return hash.digest();
}

std::vector<Job::Fact> program_facts() {
  constexpr std::size_t kLongest = 63;
  const bool gpu = default_device() == Device::cuda;
  return {{"program", program_digest("/proc/self/exe", own_file())},
          {"instruction set", std::string(to_string(active_isa()))},
          {"device", gpu ? gpu_runtime().info().name.substr(0, kLongest) : "cpu"},
          {"precision", std::string(to_string(matmul_precision()))}};
}

}  // namespace npzoo
