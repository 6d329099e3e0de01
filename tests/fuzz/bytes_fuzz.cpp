// libFuzzer entry: any bytes are a file as it stands, compressed data, or an Error; pieces of any size give the same.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/byte_stream.h"

namespace {

constexpr std::size_t kMost = std::size_t{1} << 22;  // a few bytes can stand for very many

std::string read(const std::string& path, std::size_t piece) {
  std::string text;
  std::vector<std::byte> part(piece);
  try {
    npzoo::ByteStream stream(path);
    for (std::size_t count = stream.read(part); count > 0 && text.size() < kMost; count = stream.read(part))
      text.append(reinterpret_cast<const char*>(part.data()), count);
  } catch (const npzoo::Error& error) {
    return std::string("error: ") + error.what();
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const npzoo::Descriptor file(::memfd_create("fuzz", MFD_CLOEXEC));
  npzoo::write_all(file, std::as_bytes(std::span(data, size)), "input");
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  const std::string whole = read(path, std::size_t{1} << 16), pieces = read(path, 997);
  if (whole.substr(0, kMost) != pieces.substr(0, kMost)) std::abort();
  return 0;
}
