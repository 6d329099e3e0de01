#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npzoo/datasets/model_config.h"
#include "npzoo/datasets/number_rule.h"

namespace npzoo {

/// One table of a TOML file, read strictly: every key must be there, have the right type, and be asked for. What is
/// wrong throws Error that names file, key, what was found and what was expected.
///
///     TomlReader reader(text, "[protocol] mine.toml");
///     const std::int64_t points = reader.integer("points", 2, 4096);
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
  /// All of them, sorted.
  std::vector<std::string> keys() const;

  std::string text(std::string_view key);
  /// An array of strings, at least one.
  std::vector<std::string> texts(std::string_view key);
  bool boolean(std::string_view key);
  std::string choice(std::string_view key, const std::vector<std::string_view>& options);
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high = 1'000'000'000);
  double number(std::string_view key, const NumberRule& rule);
  std::pair<double, double> two_numbers(std::string_view key, const NumberRule& rule);
  /// An array of numbers, at least one; an array of such arrays, at least one.
  std::vector<double> numbers(std::string_view key, const NumberRule& rule);
  std::vector<std::vector<double>> rows(std::string_view key, const NumberRule& rule);
  /// [low, high) with low < high, both within the bounds given.
  std::pair<std::int64_t, std::int64_t> range(std::string_view key, std::int64_t min_low, std::int64_t max_high);
  /// True, false, a finite number or a string.
  ModelConfig::mapped_type value(std::string_view key);
  TomlReader table(std::string_view key);
  /// Every table of an array of tables, at least one.
  std::vector<TomlReader> tables(std::string_view key);

  /// Throws where the key is missing.
  void require(std::string_view key, std::string_view expected);
  /// Throws: the key holds what cannot be.
  [[noreturn]] void reject(std::string_view key, const std::string& found, std::string_view expected) const;
  /// Throws where there is a key that nobody asked for.
  void finish() const;

 private:
  struct State;  // of toml++, which stays out of headers
  explicit TomlReader(State state);

  std::unique_ptr<State> state_;
};

}  // namespace npzoo
