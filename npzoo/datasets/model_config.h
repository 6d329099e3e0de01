#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>

#include "npzoo/datasets/number_rule.h"

namespace npzoo {

/// Constructor parameters of a model, as written in the `[models.NAME]` table of a protocol or in a checkpoint.
using ModelConfig = std::map<std::string, std::variant<bool, std::int64_t, double, std::string>>;

/// Reads a ModelConfig strictly: every key must be there, have the right type, and be asked for.
///
///     ConfigReader reader(config, "tnp-d");
///     const auto d_model = reader.get<std::int64_t>("d_model");
///     reader.finish();
class ConfigReader {
 public:
  /// `where` opens the error messages. The config must outlive the reader.
  ConfigReader(const ModelConfig& config, std::string where) : config_(config), where_(std::move(where)) {}

  bool has(const std::string& key) const { return config_.contains(key); }
  /// T is bool, std::int64_t, double (which an integer serves too) or std::string. Throws Error where the key is
  /// missing or holds another type.
  template <class T>
  T get(const std::string& key);
  template <class T>
  T get(const std::string& key, T fallback) {
    return has(key) ? get<T>(key) : fallback;
  }
  /// The same of a number that the rule holds for; throws Error otherwise.
  double number(const std::string& key, const NumberRule& rule);
  double number(const std::string& key, const NumberRule& rule, double fallback) {
    return has(key) ? number(key, rule) : fallback;
  }
  /// The same of an integer from `low` to `high`.
  std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high);
  std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high, std::int64_t fallback) {
    return has(key) ? integer(key, low, high) : fallback;
  }
  /// A width or a count: an integer from 1 to 65536, so that products of two never overflow.
  std::int64_t size(const std::string& key) { return integer(key, 1, kMostSize); }
  std::int64_t size(const std::string& key, std::int64_t fallback) { return has(key) ? size(key) : fallback; }
  /// A number of layers, each of which costs weights of its own: an integer from 1 to 1024.
  std::int64_t depth(const std::string& key) { return integer(key, 1, kMostLayers); }
  std::int64_t depth(const std::string& key, std::int64_t fallback) { return has(key) ? depth(key) : fallback; }
  /// Throws Error when there is a key that nobody asked for.
  void finish() const;

 private:
  static constexpr std::int64_t kMostSize = 65536, kMostLayers = 1024;

  const ModelConfig& config_;
  std::string where_;
  std::set<std::string> used_;
};

}  // namespace npzoo
