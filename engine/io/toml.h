#pragma once

// Malformed input reaches assertions of toml++ 3.3 behind which its errors are (marzer/tomlplusplus pull request 301).
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_HEADER_ONLY 0  // toml.cpp alone compiles what it does
#include <toml++/toml.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace npzoo {

/// Bounds of what is read, far beyond any protocol. toml++ destroys and visits tables by functions that call themselves
/// once a level.
constexpr int kMaxTomlNesting = 16;   // brackets within brackets
constexpr int kMaxTomlKeyParts = 16;  // a.b.c has three
constexpr std::size_t kMaxTomlBytes = std::size_t{1} << 20;

/// Control characters as escapes, for messages: a key or a value of a file may hold ends of lines.
std::string on_one_line(std::string_view text);

/// Reads any TOML of npzoo, in ASCII and within the bounds above. Throws Error that begins with `where` for anything
/// else.
toml::table parse_toml(std::string_view text, std::string_view where);

/// The other way, with escapes for all that is not ASCII.
std::string toml_text(const toml::table& table);
/// Text as a string of TOML, in ASCII. Throws Error if it is not UTF-8.
std::string toml_string(std::string_view text);

template <class T>
toml::array toml_array(const std::vector<T>& values) {
  toml::array array;
  for (const T& value : values) array.push_back(value);
  return array;
}

}  // namespace npzoo
