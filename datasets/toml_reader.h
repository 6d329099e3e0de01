#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npzoo/datasets/key_explorer.h"
#include "npzoo/datasets/model_config.h"
#include "npzoo/datasets/number_rule.h"

namespace npzoo {

/// One table of a TOML file, read strictly: every key must be present, have the right type, and be read. Errors name
/// the file, the key, what was found and what was expected. Each key comes with a line that describes it: `npzoo help
/// protocol` and the documentation print these lines, see described_keys.
///
///     TomlReader reader(text, "[protocol] mine.toml");
///     const std::int64_t points = reader.integer("points", "random points of a task", 2, 4096);
///     reader.finish();
class TomlReader {
 public:
  /// The root table of a text, see parse_toml. `where` opens the messages.
  TomlReader(std::string_view text, std::string where);
  TomlReader(TomlReader&&) noexcept;
  TomlReader& operator=(TomlReader&&) noexcept;
  ~TomlReader();

  bool has(std::string_view key) const;
  bool is_table(std::string_view key) const;
  bool is_array(std::string_view key) const;
  bool is_text(std::string_view key) const;
  /// Returns all keys, sorted.
  std::vector<std::string> keys() const;

  std::string text(std::string_view key, KeyLine line);
  /// An array of strings, at least one.
  std::vector<std::string> texts(std::string_view key, KeyLine line);
  bool boolean(std::string_view key, KeyLine line);
  std::string choice(std::string_view key, KeyLine line, const std::vector<std::string_view>& options);
  std::int64_t integer(std::string_view key, KeyLine line, std::int64_t low, std::int64_t high = kLargestInteger);
  double number(std::string_view key, KeyLine line, const NumberRule& rule);
  std::pair<double, double> two_numbers(std::string_view key, KeyLine line, const NumberRule& rule);
  /// An array of numbers, at least one; an array of such arrays, at least one.
  std::vector<double> numbers(std::string_view key, KeyLine line, const NumberRule& rule);
  std::vector<std::vector<double>> rows(std::string_view key, KeyLine line, const NumberRule& rule);
  /// [low, high) with low < high, both within the bounds given.
  std::pair<std::int64_t, std::int64_t> range(std::string_view key, KeyLine line, std::int64_t min_low,
                                              std::int64_t max_high);
  /// True, false, a finite number or a string.
  ModelConfig::mapped_type value(std::string_view key, KeyLine line);
  TomlReader table(std::string_view key, KeyLine line);
  /// Every table of an array of tables, at least one.
  std::vector<TomlReader> tables(std::string_view key, KeyLine line);

  /// Announces a key whose value has several forms, which `forms` names: the caller then reads one of them, with
  /// kPartOfForm as the line. Throws Error if the key is missing.
  void any_form(std::string_view key, KeyLine line, std::string_view forms);
  /// Throws Error unless `holds`: the key has the right type, but `found` does not go with other keys.
  void expect(bool holds, std::string_view key, const std::string& found, std::string_view expected) const;
  /// Throws Error: the key holds an impossible value.
  [[noreturn]] void reject(std::string_view key, const std::string& found, std::string_view expected) const;
  /// Throws Error if the table has a key that was not read.
  void finish() const;

 private:
  static constexpr std::int64_t kLargestInteger = 1'000'000'000;

  struct State;  // of toml++, which stays out of headers
  explicit TomlReader(State state);

  std::unique_ptr<State> state_;
};

}  // namespace npzoo
