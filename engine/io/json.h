#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace npzoo {

/// Bounds of what is read, far beyond what npzoo writes. A value is copied, compared and printed by functions that call
/// themselves once a level: without a bound a short text would overflow the stack.
constexpr int kMaxJsonDepth = 64;
constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;

/// Reads any JSON of npzoo. Throws Error that begins with `where` if the text is no JSON, is nested deeper than
/// `kMaxJsonDepth` or is longer than `kMaxJsonBytes`.
nlohmann::json parse_json(std::string_view text, std::string_view where);

/// The same, but the value is discarded (`is_discarded()`, and of no other type) where `parse_json` would throw.
nlohmann::json parse_json_or_discard(std::string_view text);

/// Reads the members of an object strictly: converts, rounds and truncates nothing. For members that are missing, of
/// another type or out of range throws Error that begins with `where` and names the key, what was found and what was
/// expected.
class JsonReader {
 public:
  /// Both must outlive the reader. Throws Error for anything but an object.
  JsonReader(const nlohmann::json& object, std::string_view where);

  bool has(const char* key) const;
  std::int64_t integer(const char* key, std::int64_t low, std::int64_t high) const;
  std::uint64_t unsigned_integer(const char* key) const;
  /// A finite number; an integer serves too.
  double number(const char* key) const;
  std::string text(const char* key) const;

 private:
  const nlohmann::json& at(const char* key, std::string_view expected) const;
  [[noreturn]] void refuse(const char* key, const nlohmann::json& found, std::string_view expected) const;

  const nlohmann::json& object_;
  std::string_view where_;
};

}  // namespace npzoo
