#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

namespace npzoo::tools {

struct JsonTree;  // see json_tree.h

/// A value that is printed as JSON: numbers with the fewest digits that tell them apart, null if there is no finite
/// one, texts with U+FFFD for what is not UTF-8, the keys of objects in alphabetical order.
class JsonValue {
 public:
  using Member = std::pair<std::string_view, JsonValue>;

  JsonValue(std::nullptr_t = nullptr);
  JsonValue(double value);
  JsonValue(std::string_view text);
  JsonValue(const std::string& text) : JsonValue(std::string_view(text)) {}
  JsonValue(const char* text) : JsonValue(std::string_view(text)) {}
  template <std::integral T>
  JsonValue(T value) : JsonValue(number(value)) {}
  template <class T>
  JsonValue(const std::optional<T>& value) : JsonValue(value ? JsonValue(*value) : JsonValue()) {}
  explicit JsonValue(JsonTree tree);
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(JsonValue other) noexcept;
  ~JsonValue();

  static JsonValue object(std::initializer_list<Member> members = {});
  static JsonValue array();
  /// Makes an array of a range.
  template <std::ranges::input_range R>
  static JsonValue array(const R& values) {
    JsonValue made = array();
    for (const auto& value : values) made.push_back(value);
    return made;
  }

  /// To an array.
  void push_back(JsonValue value);
  /// In an object, or in null, which becomes one.
  void set(std::string_view key, JsonValue value);
  void update(std::initializer_list<Member> members);
  void update(const JsonValue& object);

  /// In one line, or with this indentation.
  std::string dump(int indent = -1) const;

  const JsonTree& tree() const { return *tree_; }

 private:
  static JsonValue number(bool value);
  static JsonValue number(std::int64_t value);
  static JsonValue number(std::uint64_t value);
  template <std::integral T>
  static JsonValue number(T value) {
    if constexpr (std::signed_integral<T>)
      return number(static_cast<std::int64_t>(value));
    else
      return number(static_cast<std::uint64_t>(value));
  }

  std::unique_ptr<JsonTree> tree_;
};

/// Prints the result of a command with --json.
void print_json(const JsonValue& result);

}  // namespace npzoo::tools
