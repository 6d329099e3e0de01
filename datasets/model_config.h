#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "npzoo/datasets/key_explorer.h"
#include "npzoo/datasets/number_rule.h"
#include "npzoo/engine/error.h"

namespace npzoo {

/// Constructor parameters of a model, as written in the `[models.NAME]` table of a protocol or in a checkpoint.
using ModelConfig = std::map<std::string, std::variant<bool, std::int64_t, double, std::string>>;

/// Reads a ModelConfig strictly: every key must be present, have the right type, and be read. Each key comes with a
/// line that describes it: `npzoo help protocol` and the documentation print these lines, see described_keys.
///
///     ConfigReader reader(config, "tnp-d");
///     const auto width = reader.size("d_model", "width of tokens");
///     reader.finish();
class ConfigReader {
 public:
  /// `where` opens the error messages. The config must outlive the reader.
  ConfigReader(const ModelConfig& config, std::string where)
      : config_(config), where_(std::move(where)), explorer_(KeyExplorer::current()) {}

  bool has(const std::string& key) const { return explores(key) ? explorer_->has(key) : config_.contains(key); }
  /// T is bool, double (an integer serves too) or std::string. Throws Error if the key is missing or holds another
  /// type.
  template <class T>
  T get(const std::string& key, KeyLine line) {
    return value<T>(key, line, {});
  }
  template <class T>
  T get(const std::string& key, KeyLine line, T fallback) {
    return value<T>(key, line, fallback);
  }
  /// One of these words.
  std::string choice(const std::string& key, KeyLine line, const std::vector<std::string_view>& words) {
    return word(key, line, words, {});
  }
  std::string choice(const std::string& key, KeyLine line, const std::vector<std::string_view>& words,
                     const std::string& fallback) {
    return word(key, line, words, fallback);
  }
  /// A number that the rule holds for.
  double number(const std::string& key, KeyLine line, const NumberRule& rule) {
    return any_number(key, line, rule, {});
  }
  double number(const std::string& key, KeyLine line, const NumberRule& rule, double fallback) {
    return any_number(key, line, rule, fallback);
  }
  std::int64_t integer(const std::string& key, KeyLine line, std::int64_t low, std::int64_t high) {
    return any_integer(key, line, low, high, {});
  }
  std::int64_t integer(const std::string& key, KeyLine line, std::int64_t low, std::int64_t high,
                       std::int64_t fallback) {
    return any_integer(key, line, low, high, fallback);
  }
  /// A width or a count: an integer from 1 to 65536, so that products of two never overflow.
  std::int64_t size(const std::string& key, KeyLine line) { return integer(key, line, 1, kMostSize); }
  std::int64_t size(const std::string& key, KeyLine line, std::int64_t fallback) {
    return integer(key, line, 1, kMostSize, fallback);
  }
  /// A number of layers, each of which costs weights of its own: an integer from 1 to 1024.
  std::int64_t depth(const std::string& key, KeyLine line) { return integer(key, line, 1, kMostLayers); }
  std::int64_t depth(const std::string& key, KeyLine line, std::int64_t fallback) {
    return integer(key, line, 1, kMostLayers, fallback);
  }
  /// Throws Error with this message unless `holds`: a value has the right type, but is impossible.
  template <class... Args>
  void expect(bool holds, fmt::format_string<Args...> message, Args&&... args) const {
    if (!explorer_) check(holds, message, std::forward<Args>(args)...);
  }
  /// Throws Error if the config has a key that was not read.
  void finish() const;

 private:
  static constexpr std::int64_t kMostSize = 65536, kMostLayers = 1024;

  /// True if the explorer answers: the config does not hold the key.
  bool explores(const std::string& key) const { return explorer_ && !config_.contains(key); }
  template <class T>
  T value(const std::string& key, KeyLine line, const std::optional<T>& fallback);
  template <class T>
  T held(const std::string& key);
  std::string word(const std::string& key, KeyLine line, const std::vector<std::string_view>& words,
                   const std::optional<std::string>& fallback);
  double any_number(const std::string& key, KeyLine line, const NumberRule& rule, std::optional<double> fallback);
  std::int64_t any_integer(const std::string& key, KeyLine line, std::int64_t low, std::int64_t high,
                           std::optional<std::int64_t> fallback);

  const ModelConfig& config_;
  std::string where_;
  KeyExplorer* explorer_;  // that answers for keys that the config lacks
  std::set<std::string> used_;
};

}  // namespace npzoo
