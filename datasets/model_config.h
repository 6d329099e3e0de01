#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>

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
  /// A width or a count: an integer from 1 to 65536, so that products of two never overflow.
  std::int64_t size(const std::string& key);
  /// Throws Error when there is a key that nobody asked for.
  void finish() const;

 private:
  const ModelConfig& config_;
  std::string where_;
  std::set<std::string> used_;
};

}  // namespace npzoo
