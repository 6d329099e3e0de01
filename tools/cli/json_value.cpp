#include "tools/cli/json_value.h"

#include <fmt/core.h>

#include "tools/cli/json_tree.h"

namespace npzoo::tools {

using nlohmann::json;

JsonValue::JsonValue(std::nullptr_t) : JsonValue(JsonTree{nullptr}) {}
JsonValue::JsonValue(double value) : JsonValue(JsonTree{value}) {}
JsonValue::JsonValue(std::string_view text) : JsonValue(JsonTree{text}) {}
JsonValue::JsonValue(JsonTree tree) : tree_(std::make_unique<JsonTree>(std::move(tree))) {}
JsonValue::JsonValue(const JsonValue& other) : JsonValue(JsonTree(*other.tree_)) {}
JsonValue::JsonValue(JsonValue&& other) noexcept = default;
JsonValue& JsonValue::operator=(JsonValue other) noexcept {
  tree_ = std::move(other.tree_);
  return *this;
}
JsonValue::~JsonValue() = default;

JsonValue JsonValue::object(std::initializer_list<Member> members) {
  JsonValue made = json_value(json::object());
  made.update(members);
  return made;
}

JsonValue JsonValue::array() { return json_value(json::array()); }

void JsonValue::push_back(JsonValue value) { tree_->value.push_back(std::move(value.tree_->value)); }

void JsonValue::set(std::string_view key, JsonValue value) {
  tree_->value[std::string(key)] = std::move(value.tree_->value);
}

void JsonValue::update(std::initializer_list<Member> members) {
  for (const auto& [key, value] : members) set(key, value);
}

void JsonValue::update(const JsonValue& object) { tree_->value.update(object.tree_->value); }

std::string JsonValue::dump(int indent) const {
  return tree_->value.dump(indent, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

JsonValue JsonValue::number(bool value) { return json_value(value); }
JsonValue JsonValue::number(std::int64_t value) { return json_value(value); }
JsonValue JsonValue::number(std::uint64_t value) { return json_value(value); }

void print_json(const JsonValue& result) { fmt::print("{}\n", result.dump(2)); }

}  // namespace npzoo::tools
