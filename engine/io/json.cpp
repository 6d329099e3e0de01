#include "engine/io/json.h"

#include <nlohmann/json.hpp>

#include "engine/error.h"

namespace npzoo {

using nlohmann::json;

namespace {

/// Where the text opens one level too many, `npos` where it never does. Sees what a parser sees as far as the text is
/// JSON, and a parser looks no further.
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
  check(nul == text.npos, "{}: no JSON from byte {} on", where, nul);
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    fail("{}: no JSON from byte {} on", where, error.byte > 0 ? error.byte - 1 : 0);
  } catch (const json::out_of_range&) {
    fail("{}: a number is larger than any double", where);
  }
}

json parse_json_or_discard(std::string_view text) try { return parse_json(text, ""); } catch (const Error&) {
  return json(json::value_t::discarded);
}

}  // namespace npzoo
