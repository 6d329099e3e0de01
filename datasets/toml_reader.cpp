#include "npzoo/datasets/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/toml.h"

namespace npzoo {

namespace {

std::string describe(const toml::node& node) {
  std::ostringstream text;
  if (node.is_value())
    node.visit([&text](const auto& value) { text << value; });
  else
    text << "a TOML " << node.type();
  return text.str();
}

}  // namespace

struct TomlReader::State {
  std::shared_ptr<const toml::table> table;  // keeps the whole file
  std::string where, path;
  KeyExplorer* explorer = nullptr;  // that answers instead of the table
  std::set<std::string, std::less<>> used{};

  std::string name(std::string_view key) const {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
  }

  [[noreturn]] void reject(std::string_view key, const std::string& found, std::string_view expected) const {
    fail("{}: {} is {}, expected {}", where, on_one_line(name(key)), on_one_line(found), expected);
  }

  const toml::node& node(std::string_view key, std::string_view expected) {
    const toml::node* found = table->get(key);
    check(found != nullptr, "{}: {} is missing, expected {}", where, name(key), expected);
    used.emplace(key);
    return *found;
  }

  std::int64_t integer_at(std::string_view key, const toml::node& found, std::int64_t low, std::int64_t high,
                          std::string_view expected) const {
    const auto value = found.value_exact<std::int64_t>();
    if (!value || *value < low || *value > high) reject(key, describe(found), expected);
    return *value;
  }

  double number_at(std::string_view key, const toml::node& found, const NumberRule& rule) const {
    const auto value = found.is_number() ? found.value<double>() : std::nullopt;
    if (!value || !rule.holds(*value)) reject(key, describe(found), rule.expected);
    if (!size_allowed(*value, rule)) reject(key, describe(found), kAllowedSizes);
    return *value;
  }

  std::vector<double> numbers_at(std::string_view key, const toml::node& found, const NumberRule& rule) const {
    if (!found.is_array() || found.as_array()->empty()) reject(key, describe(found), "an array of numbers");
    std::vector<double> numbers;
    for (const toml::node& element : *found.as_array())
      numbers.push_back(number_at(fmt::format("{}[{}]", key, numbers.size()), element, rule));
    return numbers;
  }

  const toml::array& two(std::string_view key) {
    const toml::node& found = node(key, "an array of two numbers");
    if (!found.is_array() || found.as_array()->size() != 2) reject(key, describe(found), "an array of two numbers");
    return *found.as_array();
  }

  State table_at(std::string_view key, const toml::node& found) const {
    if (!found.is_table()) reject(key, describe(found), "a table");
    return {{table, found.as_table()}, where, name(key)};
  }

  void record(std::string_view key, KeyLine line, std::string type, std::vector<std::string> choices = {}) const {
    explorer->record({name(key), std::move(type), line, "", std::move(choices)});
  }
  State described_table(std::string_view key, KeyLine line, const char* type, const char* suffix) const {
    record(key, line, type);
    return {nullptr, where, name(key) + suffix, explorer};
  }
};

TomlReader::TomlReader(State state) : state_(std::make_unique<State>(std::move(state))) {}
TomlReader::TomlReader(std::string_view text, std::string where)
    : TomlReader(
          State{std::make_shared<const toml::table>(parse_toml(text, where)), where, "", KeyExplorer::current()}) {}
TomlReader::TomlReader(TomlReader&&) noexcept = default;
TomlReader& TomlReader::operator=(TomlReader&&) noexcept = default;
TomlReader::~TomlReader() = default;

bool TomlReader::has(std::string_view key) const {
  if (state_->explorer) return state_->explorer->has(state_->name(key));
  return state_->table->contains(key);
}

bool TomlReader::is_table(std::string_view key) const {
  if (state_->explorer) return state_->explorer->is_form(state_->name(key), "table");
  const toml::node* found = state_->table->get(key);
  return found && found->is_table();
}

bool TomlReader::is_array(std::string_view key) const {
  if (state_->explorer) return state_->explorer->is_form(state_->name(key), "array");
  const toml::node* found = state_->table->get(key);
  return found && found->is_array();
}

bool TomlReader::is_text(std::string_view key) const {
  if (state_->explorer) return state_->explorer->is_form(state_->name(key), "text");
  const toml::node* found = state_->table->get(key);
  return found && found->is_string();
}

std::vector<std::string> TomlReader::keys() const {
  if (state_->explorer) return {"NAME"};
  std::vector<std::string> keys;
  for (const auto& entry : *state_->table) keys.emplace_back(entry.first.str());
  return keys;
}

std::string TomlReader::text(std::string_view key, KeyLine line) {
  if (state_->explorer) return state_->record(key, line, "text"), "";
  const toml::node& found = state_->node(key, "a string");
  if (!found.is_string()) reject(key, describe(found), "a string");
  return found.as_string()->get();
}

std::vector<std::string> TomlReader::texts(std::string_view key, KeyLine line) {
  constexpr const char* kExpected = "an array of strings";
  if (state_->explorer) return state_->record(key, line, "array of texts"), std::vector<std::string>{""};
  const toml::node& found = state_->node(key, kExpected);
  if (!found.is_array() || found.as_array()->empty()) reject(key, describe(found), kExpected);
  std::vector<std::string> texts;
  for (const toml::node& element : *found.as_array()) {
    if (!element.is_string()) reject(fmt::format("{}[{}]", key, texts.size()), describe(element), "a string");
    texts.push_back(element.as_string()->get());
  }
  return texts;
}

bool TomlReader::boolean(std::string_view key, KeyLine line) {
  if (state_->explorer) return state_->record(key, line, "true or false"), state_->explorer->truth(state_->name(key));
  const toml::node& found = state_->node(key, "true or false");
  if (!found.is_boolean()) reject(key, describe(found), "true or false");
  return found.as_boolean()->get();
}

std::string TomlReader::choice(std::string_view key, KeyLine line, const std::vector<std::string_view>& options) {
  if (state_->explorer) {
    state_->record(key, line, "", {options.begin(), options.end()});
    return std::string(options[state_->explorer->choice(state_->name(key), options)]);
  }
  const std::string expected = fmt::format("one of \"{}\"", fmt::join(options, "\", \""));
  const toml::node& found = state_->node(key, expected);
  const std::string value = found.value_or(std::string());
  if (std::ranges::find(options, value) == options.end()) reject(key, describe(found), expected);
  return value;
}

std::int64_t TomlReader::integer(std::string_view key, KeyLine line, std::int64_t low, std::int64_t high) {
  if (state_->explorer) {
    state_->record(key, line, integer_type(low, high < kLargestInteger ? std::optional(high) : std::nullopt));
    return high;  // bounds of other keys that depend on this one are then as wide as they can be
  }
  const std::string expected = fmt::format("an integer from {} to {}", low, high);
  return state_->integer_at(key, state_->node(key, expected), low, high, expected);
}

double TomlReader::number(std::string_view key, KeyLine line, const NumberRule& rule) {
  if (state_->explorer) return state_->record(key, line, type_of(rule)), KeyExplorer::number(rule);
  return state_->number_at(key, state_->node(key, rule.expected), rule);
}

std::pair<double, double> TomlReader::two_numbers(std::string_view key, KeyLine line, const NumberRule& rule) {
  if (state_->explorer)
    return state_->record(key, line, "[a, b], each " + type_of(rule)), KeyExplorer::two_numbers(rule);
  const toml::array& found = state_->two(key);
  return {state_->number_at(key, found[0], rule), state_->number_at(key, found[1], rule)};
}

std::vector<double> TomlReader::numbers(std::string_view key, KeyLine line, const NumberRule& rule) {
  if (state_->explorer)
    return state_->record(key, line, "array, each " + type_of(rule)), std::vector{KeyExplorer::number(rule)};
  return state_->numbers_at(key, state_->node(key, "an array of numbers"), rule);
}

std::vector<std::vector<double>> TomlReader::rows(std::string_view key, KeyLine line, const NumberRule& rule) {
  constexpr const char* kExpected = "an array of arrays of numbers";
  if (state_->explorer)
    return state_->record(key, line, "array of arrays, each " + type_of(rule)),
           std::vector(1, std::vector{KeyExplorer::number(rule)});
  const toml::node& found = state_->node(key, kExpected);
  if (!found.is_array() || found.as_array()->empty()) reject(key, describe(found), kExpected);
  std::vector<std::vector<double>> rows;
  for (const toml::node& row : *found.as_array())
    rows.push_back(state_->numbers_at(fmt::format("{}[{}]", key, rows.size()), row, rule));
  return rows;
}

std::pair<std::int64_t, std::int64_t> TomlReader::range(std::string_view key, KeyLine line, std::int64_t min_low,
                                                        std::int64_t max_high) {
  if (state_->explorer)
    return state_->record(key, line, fmt::format("[low, high), integers from {} to {}", min_low, max_high)),
           std::pair(min_low, min_low + 1);
  const std::string expected = fmt::format("integers {} <= low < high <= {}", min_low, max_high);
  const toml::array& found = state_->two(key);
  const std::int64_t low = state_->integer_at(key, found[0], min_low, max_high, expected);
  const std::int64_t high = state_->integer_at(key, found[1], min_low, max_high, expected);
  if (low >= high) reject(key, fmt::format("[{}, {}]", low, high), expected);
  return {low, high};
}

ModelConfig::mapped_type TomlReader::value(std::string_view key, KeyLine line) {
  constexpr const char* kExpected = "true, false, a number or a string";
  if (state_->explorer) return state_->record(key, line, kExpected), true;
  const toml::node& found = state_->node(key, kExpected);
  if (found.is_boolean()) return found.as_boolean()->get();
  if (found.is_integer()) return found.as_integer()->get();
  if (found.is_floating_point()) return number(key, line, kFinite);
  if (found.is_string()) return found.as_string()->get();
  reject(key, describe(found), kExpected);
}

TomlReader TomlReader::table(std::string_view key, KeyLine line) {
  if (state_->explorer) return TomlReader(state_->described_table(key, line, "table", ""));
  return TomlReader(state_->table_at(key, state_->node(key, "a table")));
}

std::vector<TomlReader> TomlReader::tables(std::string_view key, KeyLine line) {
  std::vector<TomlReader> result;
  if (state_->explorer) {
    result.push_back(TomlReader(state_->described_table(key, line, "array of tables", "[]")));
    return result;
  }
  const toml::node& found = state_->node(key, "an array of tables");
  if (!found.is_array() || found.as_array()->empty()) reject(key, describe(found), "an array of tables");
  for (const toml::node& element : *found.as_array())
    result.push_back(TomlReader(state_->table_at(fmt::format("{}[{}]", key, result.size()), element)));
  return result;
}

void TomlReader::any_form(std::string_view key, KeyLine line, std::string_view forms) {
  if (!state_->explorer) {
    static_cast<void>(state_->node(key, forms));
    return;
  }
  state_->record(key, line, without_article(forms));
  state_->explorer->hide(state_->name(key));
}

void TomlReader::expect(bool holds, std::string_view key, const std::string& found, std::string_view expected) const {
  if (!holds && !state_->explorer) reject(key, found, expected);
}

void TomlReader::reject(std::string_view key, const std::string& found, std::string_view expected) const {
  state_->reject(key, found, expected);
}

void TomlReader::finish() const {
  if (state_->explorer) return;
  for (const std::string& key : keys())
    check(state_->used.contains(key), "{}: {} is an unknown key, expected one of: {}", state_->where,
          on_one_line(state_->name(key)), fmt::join(state_->used, ", "));
}

}  // namespace npzoo
