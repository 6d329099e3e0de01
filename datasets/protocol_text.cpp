#include "datasets/protocol_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "datasets/protocol.h"
#include "datasets/protocol_files.h"
#include "engine/error.h"
#include "engine/io/file.h"
#include "engine/io/toml.h"

namespace npzoo {

namespace {

constexpr std::size_t kMostExtended = 8;

const ProtocolFile* built_in(const std::string& name) {
  const auto found = std::ranges::find(protocol_files(), name, &ProtocolFile::name);
  return found != protocol_files().end() ? &*found : nullptr;
}

std::string read(const std::string& name_or_path) {
  if (const ProtocolFile* file = built_in(name_or_path)) return std::string(file->text);
  return read_text(name_or_path, kMaxTomlBytes);
}

/// What `extends` in the file `from` names, as a name or a path from here; empty where there is no such key.
std::string extended_by(const toml::table& table, const std::string& from) {
  const toml::node* extends = table.get("extends");
  if (!extends) return "";
  check(extends->is_string(), "[protocol] {}: extends is no string, expected a name or a path", from);
  const std::string& name = extends->as_string()->get();
  if (built_in(name)) return name;
  const std::string names = fmt::format("{}", fmt::join(protocol_names(), ", "));
  check(!built_in(from), "[protocol] {}: extends is '{}', expected one of: {}", from, name, names);
  check(name.ends_with(".toml"), "[protocol] {}: extends is '{}', expected a path ending in .toml or one of: {}", from,
        name, names);
  return (std::filesystem::path(from).parent_path() / name).lexically_normal().string();
}

void put_on(toml::table& base, const toml::table& own) {
  for (const auto& [key, value] : own) {
    toml::table* below = base[key].as_table();
    const toml::table* above = value.as_table();
    if (below && above && !above->is_inline())
      put_on(*below, *above);
    else
      base.insert_or_assign(key, value);
  }
}

std::string to_text(const toml::table& table) {
  std::ostringstream text;
  text << toml::toml_formatter{table, toml::format_flags::none} << '\n';  // with escapes for all that is not ASCII
  return text.str();
}

}  // namespace

std::string protocol_text(const std::string& name_or_path) {
  check(built_in(name_or_path) || name_or_path.ends_with(".toml"),
        "[protocol] {} is unknown, expected a path ending in .toml or one of: {}", name_or_path,
        fmt::join(protocol_names(), ", "));
  std::string text = read(name_or_path);
  std::vector<std::string> chain{name_or_path};
  std::vector<toml::table> tables{parse_toml(text, "[protocol] " + name_or_path)};
  for (std::string next = extended_by(tables[0], chain[0]); !next.empty();
       next = extended_by(tables.back(), chain.back())) {
    const bool circle = std::ranges::find(chain, next) != chain.end();
    chain.push_back(next);
    check(!circle, "[protocol] {}: extends goes in a circle: {}", name_or_path, fmt::join(chain, ", "));
    check(chain.size() <= kMostExtended + 1, "[protocol] {}: extends goes on after {} protocols, expected at most {}",
          name_or_path, kMostExtended, kMostExtended);
    check(tables.back().contains("name"), "[protocol] {}: name is missing, expected a string: {} has another",
          chain[chain.size() - 2], next);
    tables.push_back(parse_toml(read(next), "[protocol] " + next));
  }
  if (tables.size() == 1) return text;
  for (; tables.size() > 1; tables.pop_back()) {
    toml::table& own = tables[tables.size() - 2];
    own.erase("extends");
    put_on(tables.back(), own);
    own = std::move(tables.back());
  }
  return to_text(tables[0]);
}

}  // namespace npzoo
