#include "tools/cli/flag_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/parse_number.h"
#include "npzoo/engine/io/safetensors_header.h"
#include "npzoo/engine/words.h"

namespace npzoo::tools {

namespace {

/// All of the text as a T, or nothing.
template <class T>
std::optional<T> parse_all(std::string_view text) {
  T value{};
  const auto [end, error] = parse_number(text, value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::optional<std::int64_t> whole_of(const std::string& text, const Whole& range) {
  if (const auto whole = parse_all<std::int64_t>(text)) return whole;
  if (!range.exponents && text.find_first_of("eE") == text.npos) return {};
  constexpr double kExact = 0x1p53;
  const std::optional<double> value = parse_all<double>(text);
  if (!value || *value != std::floor(*value) || std::abs(*value) > kExact) return {};
  return static_cast<std::int64_t>(*value);
}

/// Reads an element of a list between quotes, which begins at `begin`, into `part`, and returns the place behind it.
/// Nothing, `npos`, if no quote ends it before a comma or the end of the list.
std::size_t end_of_quoted(const std::string& list, std::size_t begin, std::string& part) {
  for (std::size_t i = begin + 1; i < list.size(); ++i) {
    if (list[i] != '"') {
      part += list[i];
    } else if (i + 1 < list.size() && list[i + 1] == '"') {
      part += list[++i];
    } else {
      return i + 1 == list.size() || list[i + 1] == ',' ? i + 1 : list.npos;
    }
  }
  return list.npos;
}

}  // namespace

std::int64_t parse_whole(const std::string& text, const Whole& range) {
  const std::optional<std::int64_t> value = whole_of(text, range);
  check(value && *value >= range.least && *value <= range.largest, "{} found, expected a whole number from {} to {}",
        excerpt(text), range.least, range.largest);
  return *value;
}

double parse_positive(const std::string& text) {
  const std::optional<double> value = parse_all<double>(text);
  check(value && *value > 0 && std::isfinite(*value), "{} found, expected a number > 0", excerpt(text));
  return *value;
}

double parse_share(const std::string& text) {
  const std::optional<double> value = parse_all<double>(text);
  check(value && *value > 0 && *value <= 1, "{} found, expected a number above 0, up to 1", excerpt(text));
  return *value;
}

std::int64_t parse_bytes(const std::string& text) {
  struct Unit {
    std::string_view name;
    std::int64_t bytes;
  };
  constexpr std::int64_t k = 1000, Ki = 1024;
  constexpr Unit kUnits[] = {{"", 1},
                             {"b", 1},
                             {"kb", k},
                             {"mb", k * k},
                             {"gb", k * k * k},
                             {"tb", k * k * k * k},
                             {"kib", Ki},
                             {"mib", Ki * Ki},
                             {"gib", Ki * Ki * Ki},
                             {"tib", Ki * Ki * Ki * Ki}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = parse_all<std::int64_t>(std::string_view(text).substr(0, digits));
  std::string name = text.substr(digits);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const auto unit = std::ranges::find(kUnits, name, &Unit::name);
  check(value && unit != std::end(kUnits) && *value <= std::numeric_limits<std::int64_t>::max() / unit->bytes,
        "{} found, expected bytes like 512MB, 1GB or 1GiB", excerpt(text));
  return *value * unit->bytes;
}

std::string parse_text(const std::string& text) {
  check(!text.empty(), "nothing found, expected a text");
  return text;
}

std::string parse_choice(const std::string& text, const std::vector<std::string>& choices) {
  check(std::ranges::find(choices, text) != choices.end(), "{} found{}", excerpt(text), expected_words(text, choices));
  return text;
}

std::vector<std::string> parse_list(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    std::string part;
    std::size_t end = begin < list.size() && list[begin] == '"' ? end_of_quoted(list, begin, part) : list.npos;
    if (end == list.npos) {
      end = std::min(list.find(',', begin), list.size());
      part = list.substr(begin, end - begin);
    }
    parts.push_back(std::move(part));
    if (end == list.size()) return parts;
    begin = end + 1;
  }
}

std::string list_element(const std::string& text) {
  if (text.find(',') == text.npos && !text.starts_with('"')) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace npzoo::tools
