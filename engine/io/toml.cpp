#define TOML_IMPLEMENTATION

#include "npzoo/engine/io/toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/safetensors_header.h"

namespace npzoo {

namespace {

bool ends_line(char c) { return '\n' <= c && c <= '\r'; }  // as toml++ sees it

/// Looks at a text as far as a parser would, and further only into what no parser accepts: brackets and dots count
/// outside strings and comments.
class Bounds {
 public:
  Bounds(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  void verify() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'')
        skip_string(c);
      else if (c == '#')
        skip_line();
      else
        count(c);
      ++at_;
    }
  }

 private:
  void count(char c) {
    if (c == '.') {
      ++dots_;
    } else if (c == '[' || c == '{') {
      ++nesting_;
      dots_ = 0;
    } else if (c == ']' || c == '}') {
      --nesting_;
      dots_ = 0;
    } else if (c == '=' || c == ',' || ends_line(c)) {
      dots_ = 0;
    }
    // The line is counted from the start, so not for every character.
    if (nesting_ > kMaxTomlNesting)
      fail("{}: line {}: more than {} brackets within each other", where_, line(), kMaxTomlNesting);
    if (dots_ >= kMaxTomlKeyParts) fail("{}: line {}: a key of more than {} parts", where_, line(), kMaxTomlKeyParts);
  }

  void skip_line() {
    while (at_ + 1 < text_.size() && !ends_line(text_[at_ + 1])) ++at_;
  }

  /// To the last quote of the string, or to the end of its line where a parser gives up.
  void skip_string(char quote) {
    const auto quotes = [&] { return std::min(text_.find_first_not_of(quote, at_), text_.size()) - at_; };
    const std::size_t opening = quotes();
    const bool several_lines = opening >= 3;
    at_ += several_lines ? 3 : 1;
    if (opening == 2) return;  // an empty string
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\' && quote == '"') {
        ++at_;
      } else if (!several_lines && (c == quote || ends_line(c))) {
        return;
      } else if (c == quote) {
        const std::size_t found = std::min<std::size_t>(quotes(), 5);  // up to two belong to the text
        at_ += found - 1;
        if (found >= 3) return;
      }
    }
  }

  std::int64_t line() const {
    return 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
  }

  std::string_view text_, where_;
  std::size_t at_ = 0;
  int nesting_ = 0, dots_ = 0;
};

/// Takes the first character off `text`. Throws Error if it is not UTF-8.
char32_t take_character(std::string_view& text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t more = byte(0) < 0x80 ? 0 : byte(0) < 0xC0 ? 4 : byte(0) < 0xE0 ? 1 : byte(0) < 0xF0 ? 2 : 3;
  constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  char32_t value = more == 0 ? byte(0) : byte(0) & (0x3F >> more);
  bool valid = more < 4 && more < text.size();
  for (std::size_t i = 1; valid && i <= more; ++i) {
    valid = (byte(i) & 0xC0) == 0x80;
    value = value << 6 | (byte(i) & 0x3F);
  }
  valid = valid && value >= kLeast[more] && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
  check(valid, "[config] {} found, expected UTF-8", excerpt(text));
  text.remove_prefix(more + 1);
  return value;
}

}  // namespace

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)
      line += c;
    else
      line += c == '\n' ? "\\n" : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return line;
}

toml::table parse_toml(std::string_view text, std::string_view where) {
  check(text.size() <= kMaxTomlBytes, "{}: {} bytes of TOML found, expected at most {}", where, text.size(),
        kMaxTomlBytes);
  // toml++ 3.3 has undefined behaviour for many other characters (github.com/marzer/tomlplusplus/issues/190 and 295).
  const auto foreign = std::ranges::find_if(text, [](char c) { return static_cast<unsigned char>(c) > 127; });
  check(foreign == text.end(), "{}: line {} holds a character outside ASCII, expected an escape like \\u00e9", where,
        1 + std::count(text.begin(), foreign, '\n'));
  Bounds(text, where).verify();
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    fail("{}: line {}, column {}: {}", where, at.line, at.column, on_one_line(error.description()));
  }
}

std::string toml_text(const toml::table& table) {
  std::ostringstream text;
  text << toml::toml_formatter{table, toml::format_flags::none} << '\n';
  return text.str();
}

std::string toml_string(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const char32_t c = take_character(text);
    if (c == '"' || c == '\\')
      quoted += fmt::format("\\{}", static_cast<char>(c));
    else if (c < ' ' || c > '~')
      quoted += fmt::format("\\U{:08X}", static_cast<std::uint32_t>(c));
    else
      quoted += static_cast<char>(c);
  }
  return quoted + '"';
}

}  // namespace npzoo
