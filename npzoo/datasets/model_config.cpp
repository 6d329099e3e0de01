#include "npzoo/datasets/model_config.h"

#include <fmt/format.h>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

template <class T>
constexpr const char* type_name();
template <>
constexpr const char* type_name<bool>() {
  return "true or false";
}
template <>
constexpr const char* type_name<std::int64_t>() {
  return "an integer";
}
template <>
constexpr const char* type_name<double>() {
  return "a number";
}
template <>
constexpr const char* type_name<std::string>() {
  return "a string";
}

}  // namespace

template <class T>
T ConfigReader::get(const std::string& key) {
  const auto entry = config_.find(key);
  check(entry != config_.end(), "[{}] {} is missing, expected {}", where_, key, type_name<T>());
  used_.insert(key);
  const auto& value = entry->second;
  if (const T* exact = std::get_if<T>(&value)) return *exact;
  if constexpr (std::is_same_v<T, double>)
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  fail("[{}] {} is {}, expected {}", where_, key, std::visit([](const auto& v) { return fmt::format("{}", v); }, value),
       type_name<T>());
}

template bool ConfigReader::get(const std::string&);
template std::int64_t ConfigReader::get(const std::string&);
template double ConfigReader::get(const std::string&);
template std::string ConfigReader::get(const std::string&);

double ConfigReader::number(const std::string& key, const NumberRule& rule) {
  const auto value = get<double>(key);
  check(rule.holds(value), "[{}] {} is {}, expected {}", where_, key, value, rule.expected);
  check(size_allowed(value, rule), "[{}] {} is {}, expected {}", where_, key, value, kAllowedSizes);
  return value;
}

std::int64_t ConfigReader::integer(const std::string& key, std::int64_t low, std::int64_t high) {
  const auto value = get<std::int64_t>(key);
  check(low <= value && value <= high, "[{}] {} is {}, expected an integer from {} to {}", where_, key, value, low,
        high);
  return value;
}

void ConfigReader::finish() const {
  const std::string known = used_.empty() ? "none" : fmt::format("{}", fmt::join(used_, ", "));
  for (const auto& [key, value] : config_)
    check(used_.contains(key), "[{}] {} is an unknown key, expected one of: {}", where_, key, known);
}

}  // namespace npzoo
