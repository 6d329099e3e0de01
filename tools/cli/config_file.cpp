#include "tools/cli/config_file.h"
#include "npzoo/engine/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/safetensors_header.h"
#include "npzoo/engine/io/toml.h"
#include "tools/cli/usage.h"

namespace npzoo::tools {

namespace {

/// Values that a type accepts: the words for it, and kinds of TOML values.
struct Accepted {
  const char* words;
  bool list, string, integer, floating, boolean;
};

Accepted accepted(FlagType type) {
  switch (type) {
    case FlagType::flag: return {"true or false", false, false, false, false, true};
    case FlagType::text: return {"a string", false, true, false, false, false};
    case FlagType::whole: return {"an integer", false, false, true, false, false};
    case FlagType::number: return {"a number", false, false, true, true, false};
    case FlagType::bytes: return {"an integer or a string", false, true, true, false, false};
    case FlagType::texts: return {"an array of strings", true, true, false, false, false};
    case FlagType::wholes: return {"an array of integers", true, false, true, false, false};
    case FlagType::numbers: break;
  }
  return {"an array of numbers", true, false, true, true, false};
}

std::string type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a number";
    case toml::node_type::boolean: return "a boolean";
    default: return "a date or a time";
  }
}

/// A value as the command line would spell it; nothing if the type does not take it.
std::optional<std::string> spelling(const toml::node& node, const Accepted& takes) {
  if (takes.string && node.is_string()) return node.as_string()->get();
  if (takes.integer && node.is_integer()) return std::to_string(node.as_integer()->get());
  if (takes.floating && node.is_floating_point()) return fmt::format("{}", node.as_floating_point()->get());
  if (takes.boolean && node.is_boolean()) return node.as_boolean()->get() ? "true" : "false";
  return {};
}

class ConfigFile {
 public:
  explicit ConfigFile(const std::filesystem::path& path) : where_(path.string()) {
    root_ = parse_toml(read_text(path, kMaxTomlBytes), where_);
  }

  void apply(const Flags& program) const { apply_table(program, root_, {}); }

 private:
  void apply_table(const Flags& flags, const toml::table& table, const std::string& path) const {
    const std::vector<Flags> commands = flags.commands();
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      const std::string full = path.empty() ? name : path + "." + name;
      if (const auto command = std::ranges::find(commands, name, &Flags::command); command != commands.end()) {
        check(node.is_table(), "{}: {} is {}, expected a table", where_, full, type_name(node));
        apply_table(*command, *node.as_table(), full);
        continue;
      }
      const std::vector<Flag> known = flags_in_files(flags);
      const auto flag = std::ranges::find(known, name, &Flag::name);
      if (flag == known.end()) fail_unknown(flags, name, full, path);
      apply_value(*flag, node, full);
    }
  }

  static std::vector<Flag> flags_in_files(const Flags& flags) {
    std::vector<Flag> found = flags.all();
    std::erase_if(found, [](const Flag& flag) { return !flag.in_files(); });
    return found;
  }

  [[noreturn]] void fail_unknown(const Flags& flags, const std::string& name, const std::string& full,
                                 const std::string& path) const {
    std::vector<std::string> known = command_names(flags);
    for (const Flag& flag : flags_in_files(flags)) known.push_back(flag.name());
    fail("{}: {} is an unknown {}{}", where_, excerpt(full), path.empty() ? "table" : "key",
         expected_words(name, known));
  }

  void apply_value(Flag flag, const toml::node& node, const std::string& full) const {
    const Accepted takes = accepted(flag.type());
    std::vector<std::string> values;
    const auto add = [&](const toml::node& value) {
      const std::optional<std::string> text = spelling(value, takes);
      check(text.has_value(), "{}: {} is {}, expected {}", where_, full, type_name(value), takes.words);
      values.push_back(*text);
    };
    if (takes.list && node.is_array())
      for (const toml::node& element : *node.as_array()) add(element);
    else
      add(node);
    check(!values.empty(), "{}: {} is empty, expected {}", where_, full, takes.words);
    const bool off = flag.type() == FlagType::flag && values[0] == "false";
    if (flag.given() || off) return;  // the command line wins
    if (takes.list && !flag.repeats() && node.is_array())
      for (std::string& value : values) value = list_element(value);
    try {
      flag.set(std::move(values));
    } catch (const Error& e) {
      fail("{}: {}: {}", where_, full, e.what());
    }
  }

  std::string where_;
  toml::table root_;
};

}  // namespace

void apply_config(const Flags& program, const std::filesystem::path& path) { ConfigFile(path).apply(program); }

}  // namespace npzoo::tools
