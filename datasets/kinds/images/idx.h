#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace npzoo {

/// Bytes in the IDX format of LeCun's MNIST: a magic number, extents, then the bytes, row by row.
struct IdxArray {
  std::vector<std::int64_t> extents;
  std::vector<std::uint8_t> bytes;
};

/// Reads a file, also one that gzip or xz made smaller. Throws Error for what is no array of bytes of `dimensions`
/// extents, each of which is at least 1, for more than 4 GiB, and for a file that ends early or goes on.
IdxArray read_idx(const std::filesystem::path& path, std::int64_t dimensions);

}  // namespace npzoo
