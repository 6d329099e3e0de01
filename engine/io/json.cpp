#include "npzoo/engine/io/json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "npzoo/engine/error.h"

namespace npzoo {

using nlohmann::json;

namespace {

/// Returns the position at which the text opens one level too many, `npos` if it never does. It agrees with a parser as
/// long as the text is JSON, and a parser reads no further.
std::size_t first_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      i += c == '\\';
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

}  // namespace

json parse_json(std::string_view text, std::string_view where) {
  check(text.size() <= kMaxJsonBytes, "{}: {} bytes of JSON found, expected at most {}", where, text.size(),
        kMaxJsonBytes);
  const std::size_t deep = first_too_deep(text);
  check(deep == text.npos, "{}: more than {} levels of JSON at byte {}", where, kMaxJsonDepth, deep);
  // nlohmann::json takes a NUL for the end of its input and would not look at the rest.
  const std::size_t nul = text.find('\0');
  check(nul == text.npos, "{}: invalid JSON at byte {}", where, nul);
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    fail("{}: invalid JSON at byte {}", where, error.byte > 0 ? error.byte - 1 : 0);
  } catch (const json::out_of_range&) {
    fail("{}: a number is larger than any double", where);
  }
}

json parse_json_or_discard(std::string_view text) try { return parse_json(text, ""); } catch (const Error&) {
  return json(json::value_t::discarded);
}

JsonReader::JsonReader(const json& object, std::string_view where) : object_(object), where_(where) {
  check(object.is_object(), "{}: {} found, expected a JSON object", where, object.type_name());
}

bool JsonReader::has(const char* key) const { return object_.contains(key); }

std::int64_t JsonReader::integer(const char* key, std::int64_t low, std::int64_t high) const {
  const std::string expected = fmt::format("an integer from {} to {}", low, high);
  const json& value = at(key, expected);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool fits = value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= kMost);
  if (!fits || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high) refuse(key, value, expected);
  return value.get<std::int64_t>();
}

std::uint64_t JsonReader::unsigned_integer(const char* key) const {
  constexpr std::string_view kExpected = "an integer from 0 to 18446744073709551615";
  const json& value = at(key, kExpected);
  // One that was made and not read may be signed.
  const bool fits = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
  if (!fits) refuse(key, value, kExpected);
  return value.get<std::uint64_t>();
}

double JsonReader::number(const char* key) const {
  constexpr std::string_view kExpected = "a finite number";
  const json& value = at(key, kExpected);
  if (!value.is_number() || !std::isfinite(value.get<double>())) refuse(key, value, kExpected);
  return value.get<double>();
}

std::string JsonReader::text(const char* key) const {
  constexpr std::string_view kExpected = "a string";
  const json& value = at(key, kExpected);
  if (!value.is_string()) refuse(key, value, kExpected);
  return value.get<std::string>();
}

const json& JsonReader::at(const char* key, std::string_view expected) const {
  const auto found = object_.find(key);
  check(found != object_.end(), "{}: {} is missing, expected {}", where_, key, expected);
  return *found;
}

void JsonReader::refuse(const char* key, const json& found, std::string_view expected) const {
  constexpr std::size_t kLongest = 40;
  std::string text = found.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  fail("{}: {} is {}, expected {}", where_, key, text, expected);
}

}  // namespace npzoo
