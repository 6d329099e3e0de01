#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

// Helpers for tests of files and their formats.

namespace npzoo::testing {

inline void put(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string repeated(std::string_view text, std::int64_t times) {
  std::string result;
  for (std::int64_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace npzoo::testing
