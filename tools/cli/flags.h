#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli/flag_values.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace npzoo::tools {

/// Type of a flag's value, as --help shows it and as files of options must write it.
enum class FlagType { flag, text, whole, number, bytes, texts, wholes, numbers };

/// One flag of a command, or a word of its line that stands without a name.
class Flag {
 public:
  explicit Flag(CLI::Option& option) : option_(&option) {}

  Flag required();
  /// Not together with the other one.
  Flag excludes(const Flag& other);
  /// Any number of them may be given, each with one value.
  bool repeats() const;
  /// Takes elements with commas between them.
  bool is_list() const;
  /// No file of options has it.
  Flag not_in_files();

  /// Without the dashes.
  std::string name() const;
  FlagType type() const;
  bool is_word() const;
  bool in_files() const;
  bool needed() const;
  /// Returns its line in --help: a sentence, the name of its value ("" for none), and its default ("" for none).
  std::string help() const;
  std::string value_name() const;
  std::string shown_default() const;
  /// Returns the words of a choice.
  std::vector<std::string> choices() const;
  /// Whether it has a value from the command line or a file.
  bool given() const;
  /// Gives it the values of a file. Throws Error, "what was found, what was expected".
  void set(std::vector<std::string> values);

  /// One of the flags that every command has; they come last in --help.
  Flag common();
  bool is_common() const;

  Flag with_choices(const std::vector<std::string>& choices);

 private:
  CLI::Option* option_;
};

/// The flags of a command, and the commands whose names may follow its own. A list may be given in parts, by commas or
/// by the flag several times. The variables that flags are read into must live as long as the command line.
class Flags {
 public:
  explicit Flags(CLI::App& app) : app_(&app) {}

  template <class T>
  Flag text(const std::string& name, T& value, const std::string& help) {
    return add(name, value, help, FlagType::text, parse_text);
  }
  /// May also be empty, as `--mark ''`.
  Flag text_or_none(const std::string& name, std::optional<std::string>& value, const std::string& help) {
    return add(name, value, help, FlagType::text, [](const std::string& text) { return text; });
  }
  Flag texts(const std::string& name, std::vector<std::string>& value, const std::string& help) {
    return add(name, value, help, FlagType::texts, parse_text);
  }
  /// One text each time that the flag is given.
  Flag repeated(const std::string& name, std::vector<std::string>& value, const std::string& help);
  template <class T>
  Flag choice(const std::string& name, T& value, const std::vector<std::string>& choices, const std::string& help) {
    return add(name, value, help, FlagType::text,
               [choices](const std::string& text) { return parse_choice(text, choices); })
        .with_choices(choices);
  }
  /// `T` is an integer, which the range is to fit, or an optional one.
  template <class T>
  Flag whole(const std::string& name, T& value, const Whole& range, const std::string& help) {
    return add(name, value, help, FlagType::whole,
               [range](const std::string& text) { return parse_whole(text, range); });
  }
  template <class T>
  Flag wholes(const std::string& name, std::vector<T>& value, const Whole& range, const std::string& help) {
    return add(name, value, help, range.exponents ? FlagType::numbers : FlagType::wholes,
               [range](const std::string& text) { return parse_whole(text, range); });
  }
  template <class T>
  Flag seed(const std::string& name, T& value, const std::string& help) {
    return whole(name, value, {0, kLargestSeed}, help);
  }
  template <class T>
  Flag positive(const std::string& name, T& value, const std::string& help) {
    return add(name, value, help, FlagType::number, parse_positive);
  }
  /// A number above 0, up to 1.
  template <class T>
  Flag share(const std::string& name, T& value, const std::string& help) {
    return add(name, value, help, FlagType::number, parse_share);
  }
  Flag bytes(const std::string& name, std::int64_t& value, const std::string& help) {
    return add(name, value, help, FlagType::bytes, parse_bytes);
  }
  /// Without a value: true if it is given.
  Flag toggle(const std::string& name, bool& value, const std::string& help);
  /// Any number of words without a name.
  Flag words(const std::string& name, std::vector<std::string>& value, const std::string& help);
  /// Calls `read` with a text.
  Flag call(const std::string& name, const std::function<void(const std::string&)>& read, const std::string& help);

  /// When all is read: `check` throws Error, "what was found, what was expected", where flags do not fit together.
  void check_together(const std::function<void()>& check);

  // For --help, completion and files of options.
  std::string command() const;
  std::string what() const;
  std::string example() const;
  std::vector<Flags> commands() const;
  /// Returns the command that the command line names.
  std::optional<Flags> chosen() const;
  std::vector<Flag> all() const;

 private:
  /// `set` gets the text, or one after the other the elements of a list, after `clear`.
  struct Value {
    FlagType type;
    std::function<void(const std::string&)> set;
    std::string shown{};  // the default, in --help
    std::function<void()> clear{};
  };
  Flag add_value(const std::string& name, const std::string& help, Value value);

  template <class T>
  Flag add(const std::string& name, T& value, const std::string& help, FlagType type, auto parse);

  CLI::App* app_;
};

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
  for (const T& value : values) {
    if (!text.empty()) text += ',';
    text += shown(value);
  }
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

}  // namespace flag_detail

template <class T>
Flag Flags::add(const std::string& name, T& value, const std::string& help, FlagType type, auto parse) {
  Value flag{type, [&value, parse](const std::string& text) { flag_detail::assign(value, parse(text)); },
             flag_detail::shown(value)};
  if constexpr (requires { value.push_back({}); } && !std::same_as<T, std::string>)
    flag.clear = [&value] { value.clear(); };
  return add_value(name, help, std::move(flag));
}

}  // namespace npzoo::tools
