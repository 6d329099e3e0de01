#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace npzoo {

// Every flag with a value is defined by one of these. They take the whole text or refuse it, in one line that says what
// was expected. Nothing is left to the conversions of CLI11, for which -1 is an unsigned number and 1e20 an integer.

/// Of steps, batches, rows and the like.
inline constexpr std::int64_t kMostCount = 1'000'000'000;
/// The largest integer of TOML, so that every seed can be written to a file of options.
inline constexpr std::int64_t kLargestSeed = std::numeric_limits<std::int64_t>::max();

/// Whole numbers, ends included.
struct Whole {
  std::int64_t least = 0, largest = kMostCount;
  bool exponents = false;  // 1e6 is one as well
};

// One value. They throw Error, "what was found, what was expected", without the name of the flag.
std::int64_t parse_whole(const std::string& text, const Whole& range);
double parse_positive(const std::string& text);
/// With or without a unit: "512MB", "1GiB", "0".
std::int64_t parse_bytes(const std::string& text);
/// Not empty.
std::string parse_text(const std::string& text);
std::string parse_choice(const std::string& text, const std::vector<std::string>& choices);

/// What a flag takes, as --help shows it and as a file of options must write it.
enum class FlagType { flag, text, whole, number, bytes, texts, wholes, numbers };
FlagType type_of(const CLI::Option& option);

/// The general case: `set` gets the text, or one after the other the elements of a list with commas, after `clear`.
struct FlagValue {
  FlagType type = FlagType::text;
  std::function<void(const std::string&)> set;
  std::string shown{};  // the default, in --help
  std::function<void()> clear{};
};
CLI::Option* add_value(CLI::App& app, const std::string& name, const std::string& help, FlagValue value);

/// A flag without a value.
CLI::Option* add_switch(CLI::App& app, const std::string& name, bool& value, const std::string& help);

namespace flag_detail {

inline std::string shown(const std::string& value) { return value; }
inline std::string shown(const std::filesystem::path& value) { return value.string(); }
template <std::integral T>
std::string shown(T value) {
  return std::to_string(value);
}
template <class T>
std::string shown(const std::optional<T>&) {
  return {};
}
template <class T>
std::string shown(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ",") + shown(value);
  return text;
}

/// Assigns to a T, to an optional one or to the end of a vector.
template <class T, class V>
void assign(T& to, V value) {
  to = static_cast<T>(std::move(value));
}
template <class T, class V>
void assign(std::optional<T>& to, V value) {
  to = static_cast<T>(std::move(value));
}
template <class T, class V>
void assign(std::vector<T>& to, V value) {
  to.push_back(static_cast<T>(std::move(value)));
}

template <class T>
CLI::Option* add(CLI::App& app, const std::string& name, T& value, const std::string& help, FlagType type, auto parse) {
  FlagValue flag{type, [&value, parse](const std::string& text) { assign(value, parse(text)); }, shown(value)};
  if constexpr (requires { value.push_back({}); } && !std::same_as<T, std::string>)
    flag.clear = [&value] { value.clear(); };
  return add_value(app, name, help, std::move(flag));
}

}  // namespace flag_detail

template <class T>
CLI::Option* add_text(CLI::App& app, const std::string& name, T& value, const std::string& help) {
  return flag_detail::add(app, name, value, help, FlagType::text, parse_text);
}

inline CLI::Option* add_texts(CLI::App& app, const std::string& name, std::vector<std::string>& value,
                              const std::string& help) {
  return flag_detail::add(app, name, value, help, FlagType::texts, parse_text);
}

template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& name, T& value, const std::vector<std::string>& choices,
                        const std::string& help) {
  return flag_detail::add(app, name, value, help, FlagType::text,
                          [choices](const std::string& text) { return parse_choice(text, choices); });
}

/// `T` is an integer, which the range is to fit, or an optional one.
template <class T>
CLI::Option* add_whole(CLI::App& app, const std::string& name, T& value, const Whole& range, const std::string& help) {
  return flag_detail::add(app, name, value, help, FlagType::whole,
                          [range](const std::string& text) { return parse_whole(text, range); });
}

template <class T>
CLI::Option* add_wholes(CLI::App& app, const std::string& name, std::vector<T>& value, const Whole& range,
                        const std::string& help) {
  return flag_detail::add(app, name, value, help, range.exponents ? FlagType::numbers : FlagType::wholes,
                          [range](const std::string& text) { return parse_whole(text, range); });
}

template <class T>
CLI::Option* add_seed(CLI::App& app, const std::string& name, T& value, const std::string& help) {
  return add_whole(app, name, value, {0, kLargestSeed}, help);
}

template <class T>
CLI::Option* add_positive(CLI::App& app, const std::string& name, T& value, const std::string& help) {
  return flag_detail::add(app, name, value, help, FlagType::number, parse_positive);
}

inline CLI::Option* add_bytes(CLI::App& app, const std::string& name, std::int64_t& value, const std::string& help) {
  return flag_detail::add(app, name, value, help, FlagType::bytes, parse_bytes);
}

}  // namespace npzoo
