#include "npzoo/datasets/kinds/images/idx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "npzoo/datasets/pictures/whole_bytes.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/byte_stream.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostIdxBytes = std::int64_t{1} << 32;

}  // namespace

IdxArray read_idx(const std::filesystem::path& path, std::int64_t dimensions) {
  ByteStream file(path);
  const auto header = read_bytes(file, 4 + 4 * dimensions, "its header");
  constexpr std::uint8_t kBytes = 8;
  check(header[0] == 0 && header[1] == 0 && header[2] == kBytes && header[3] == dimensions,
        "[idx] {}: magic number {:02x} {:02x} {:02x} {:02x} found, expected 00 00 08 {:02x}: bytes with {} extents",
        file.name(), header[0], header[1], header[2], header[3], dimensions, dimensions);
  IdxArray array;
  std::int64_t count = 1;
  for (std::int64_t d = 0; d < dimensions; ++d) {
    std::int64_t extent = 0;
    for (std::int64_t i = 4 + 4 * d; i < 8 + 4 * d; ++i) extent = 256 * extent + header[static_cast<std::size_t>(i)];
    array.extents.push_back(extent);
    count = extent == 0 || count > kMostIdxBytes / extent ? 0 : count * extent;
    if (count == 0) break;
  }
  check(count > 0, "[idx] {}: extents {} found, expected at least 1 each and {} bytes in all", file.name(),
        fmt::join(array.extents, " x "), kMostIdxBytes);
  array.bytes = read_bytes(file, count, fmt::format("those of {}", fmt::join(array.extents, " x ")));
  check_end(file, fmt::format("{} bytes", count));
  return array;
}

}  // namespace npzoo
