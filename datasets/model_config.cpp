#include "npzoo/datasets/model_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace

template <class T>
T ConfigReader::held(const std::string& key) {
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

template <class T>
T ConfigReader::value(const std::string& key, KeyLine line, const std::optional<T>& fallback) {
  if (explores(key)) {
    explorer_->record({key, std::is_same_v<T, bool> ? type_name<T>() : "text", line, text_of(fallback), {}});
    if constexpr (std::is_same_v<T, bool>) return explorer_->truth(key);
    return fallback.value_or(T());
  }
  return fallback && !has(key) ? *fallback : held<T>(key);
}

template bool ConfigReader::value(const std::string&, KeyLine, const std::optional<bool>&);
template std::string ConfigReader::value(const std::string&, KeyLine, const std::optional<std::string>&);

std::string ConfigReader::word(const std::string& key, KeyLine line, const std::vector<std::string_view>& words,
                               const std::optional<std::string>& fallback) {
  if (explores(key)) {
    explorer_->record({key, "", line, text_of(fallback), {words.begin(), words.end()}});
    return std::string(words[explorer_->choice(key, words)]);
  }
  std::string word = fallback && !has(key) ? *fallback : held<std::string>(key);
  check(std::ranges::find(words, word) != words.end(), "[{}] {} '{}' found, expected {} or {}", where_, key, word,
        fmt::join(words.begin(), words.end() - 1, ", "), words.back());
  return word;
}

double ConfigReader::any_number(const std::string& key, KeyLine line, const NumberRule& rule,
                                std::optional<double> fallback) {
  if (explores(key)) {
    explorer_->record({key, type_of(rule), line, text_of(fallback), {}});
    return KeyExplorer::number(rule);
  }
  if (fallback && !has(key)) return *fallback;
  const auto value = held<double>(key);
  check(rule.holds(value), "[{}] {} is {}, expected {}", where_, key, value, rule.expected);
  check(size_allowed(value, rule), "[{}] {} is {}, expected {}", where_, key, value, kAllowedSizes);
  return value;
}

std::int64_t ConfigReader::any_integer(const std::string& key, KeyLine line, std::int64_t low, std::int64_t high,
                                       std::optional<std::int64_t> fallback) {
  if (explores(key)) {
    explorer_->record({key, integer_type(low, high), line, text_of(fallback), {}});
    return low;
  }
  if (fallback && !has(key)) return *fallback;
  const auto value = held<std::int64_t>(key);
  check(low <= value && value <= high, "[{}] {} is {}, expected an integer from {} to {}", where_, key, value, low,
        high);
  return value;
}

void ConfigReader::finish() const {
  if (explorer_) throw KeyExplorer::Finished();  // before anything is made of the examples
  const std::string known = used_.empty() ? "none" : fmt::format("{}", fmt::join(used_, ", "));
  for (const auto& [key, value] : config_)
    check(used_.contains(key), "[{}] {} is an unknown key, expected one of: {}", where_, key, known);
}

}  // namespace npzoo
