#include "npzoo/datasets/pictures/whole_bytes.h"

#include <algorithm>
#include <array>
#include <span>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr std::int64_t kBytesAtOnce = std::int64_t{1} << 20;

}  // namespace

std::vector<std::uint8_t> next_bytes(ByteStream& file, std::int64_t count) {
  std::vector<std::uint8_t> bytes;
  for (std::int64_t have = 0; have < count;) {
    bytes.resize(static_cast<std::size_t>(std::min(count, have + kBytesAtOnce)));
    const auto got = file.read(std::as_writable_bytes(std::span(bytes).subspan(static_cast<std::size_t>(have))));
    have += static_cast<std::int64_t>(got);
    bytes.resize(static_cast<std::size_t>(have));
    if (got == 0) break;
  }
  return bytes;
}

std::vector<std::uint8_t> read_bytes(ByteStream& file, std::int64_t count, std::string_view what) {
  std::vector<std::uint8_t> bytes = next_bytes(file, count);
  check(std::ssize(bytes) == count, "[images] {}: ends after {} of {} bytes, expected {}", file.name(), bytes.size(),
        count, what);
  return bytes;
}

std::vector<std::uint8_t> read_rest(ByteStream& file, std::int64_t most) {
  std::vector<std::uint8_t> bytes = next_bytes(file, most + 1);
  check(std::ssize(bytes) <= most, "[images] {}: more than {} bytes found, expected at most as many", file.name(),
        most);
  return bytes;
}

void check_end(ByteStream& file, std::string_view what) {
  std::array<std::byte, 1> next{};
  check(file.read(next) == 0, "[images] {}: has more bytes after {}, expected its end", file.name(), what);
}

}  // namespace npzoo
