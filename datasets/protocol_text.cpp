#include "npzoo/datasets/protocol_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "npzoo/datasets/protocol.h"
#include "npzoo/datasets/protocol_files.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/safetensors_header.h"
#include "npzoo/engine/io/toml.h"
#include "npzoo/engine/words.h"

namespace npzoo {

namespace {

// Keys of a file that its complete text has no more.
constexpr std::string_view kExtendsKey = "extends", kPresetsKey = "presets";

constexpr const char* kAllProtocols = "npzoo list protocols";

constexpr std::size_t kMostExtended = 8;

const ProtocolFile* find(std::span<const ProtocolFile> files, const std::string& name) {
  const auto found = std::ranges::find(files, name, &ProtocolFile::name);
  return found != files.end() ? &*found : nullptr;
}

const ProtocolFile* built_in(const std::string& name) { return find(protocol_files(), name); }

std::string read(const std::string& name_or_path) {
  if (const ProtocolFile* file = built_in(name_or_path)) return std::string(file->text);
  return read_text(name_or_path, kMaxTomlBytes);
}

/// A path that the file `from` holds, as a path from here.
std::string beside(const std::string& from, const std::string& path) {
  return (std::filesystem::path(from).parent_path() / path).lexically_normal().string();
}

/// Returns the value of `extends` in the file `from`, as a name or a path from here; empty if there is no such key.
std::string extended_by(const toml::table& table, const std::string& from) {
  const toml::node* extends = table.get(kExtendsKey);
  if (!extends) return "";
  check(extends->is_string(), "[protocol] {}: extends is not a string, expected a name or a path", from);
  const std::string& name = extends->as_string()->get();
  if (built_in(name)) return name;
  if (built_in(from) || !name.ends_with(".toml"))
    fail("[protocol] {}: extends is '{}', neither a protocol nor a path that ends in .toml{}", from, name,
         expected_names(name, protocol_names(), kAllProtocols));
  return beside(from, name);
}

/// Texts of the presets that `presets` in the file `from` names.
std::vector<std::string> presets_of(const toml::table& table, const std::string& from) {
  const toml::node* presets = table.get(kPresetsKey);
  if (!presets) return {};
  const toml::array* several = presets->as_array();
  std::vector<std::string> texts;
  const auto add = [&](const toml::node& one) {
    check(one.is_string(), "[protocol] {}: presets is not a string, expected a name or a path, or several of them",
          from);
    const std::string& name = one.as_string()->get();
    if (const ProtocolFile* file = find(preset_files(), name)) {
      texts.emplace_back(file->text);
      return;
    }
    std::vector<std::string> names;
    for (const ProtocolFile& file : preset_files()) names.emplace_back(file.name);
    if (built_in(from) || !name.ends_with(".toml"))
      fail("[protocol] {}: presets is '{}', neither presets of npzoo nor a path that ends in .toml{}", from, name,
           expected_names(name, names, "the folder protocols/presets"));
    texts.push_back(read_text(beside(from, name), kMaxTomlBytes));
  };
  if (!several) add(*presets);
  for (std::size_t i = 0; several && i < several->size(); ++i) add((*several)[i]);
  return texts;
}

/// The same as tables.
std::vector<toml::table> preset_tables(const std::vector<std::string>& texts, const std::string& from) {
  std::vector<toml::table> tables;
  for (const std::string& text : texts) {
    tables.push_back(parse_toml(text, fmt::format("[protocol] {}: presets", from)));
    for (const auto& [key, value] : tables.back())
      check(key.str() == "models" && value.is_table(), "[protocol] {}: presets has the key {}, expected [models] alone",
            from, key.str());
  }
  return tables;
}

void put_on(toml::table& base, const toml::table& own) {
  for (const auto& [key, value] : own) {
    toml::table* below = base[key].as_table();
    const toml::table* above = value.as_table();
    if (below && value.value<bool>() == false)
      base.erase(key);
    else if (below && above && !above->is_inline())
      put_on(*below, *above);
    else
      base.insert_or_assign(key, value);
  }
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == text.npos ? "" : text.substr(begin, end + 1 - begin);
}

bool is_dotted_key(std::string_view key) {
  return std::ranges::all_of(
      key, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.'; });
}

/// One key with its value, both as they were written.
using Changes = std::map<std::string, std::string, std::less<>>;

void read_change(const std::string& change, Changes& changes) {
  constexpr const char* kExpected = R"(a key and a value of TOML, as data.points=100 or training.keep="last")";
  const std::size_t equals = change.find('=');
  const std::string_view key = trimmed(std::string_view(change).substr(0, equals));
  check(equals != change.npos && is_dotted_key(key) &&
            std::ranges::none_of(change, [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; }),
        "[set] {} found, expected {}", excerpt(change), kExpected);
  try {
    static_cast<void>(parse_toml(change, "[set]"));
  } catch (const Error&) {
    fail("[set] {} found, expected {}", excerpt(change), kExpected);
  }
  check(key != "name", "[set] {} found, expected another key: npzoo makes the name of a changed protocol",
        excerpt(change));
  check(key != "evaluation.densities" && !key.starts_with("evaluation.densities."),
        "[set] {} found, expected another key: a changed protocol has no published figures", excerpt(change));
  changes.insert_or_assign(std::string(key), std::string(trimmed(std::string_view(change).substr(equals + 1))));
}

/// As a shell takes it for one word.
std::string shell_word(const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./=+,:").find(c) != std::string::npos;
  });
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

toml::array* tests_of(toml::table& root) {
  toml::table* evaluation = root["evaluation"].as_table();
  return evaluation ? (*evaluation)["tests"].as_array() : nullptr;
}

/// Removes figures that were measured, or are the best possible, under other rules than these.
void drop_figures(toml::table& root, bool oracles) {
  toml::array* tests = tests_of(root);
  if (!tests) return;
  for (toml::node& node : *tests)
    if (toml::table* test = node.as_table()) {
      test->erase("published");
      test->erase("published_figures");
      if (oracles) test->erase("oracle");
    }
}

/// Removes keys of `[evaluation]` that explain published rows, if the tests that count (`replacing`, else `root`) have
/// no such rows.
void drop_words_on_figures(toml::table& root, toml::table& replacing) {
  std::set<std::string, std::less<>> models;
  bool figures = false;
  toml::array* own = tests_of(replacing);
  if (toml::array* tests = own ? own : tests_of(root))
    for (toml::node& node : *tests)
      if (const toml::table* test = node.as_table()) {
        figures = figures || test->contains("published_figures");
        if (const toml::table* rows = (*test)["published"].as_table())
          for (const auto& [model, row] : *rows) models.emplace(model.str());
      }
  toml::table* evaluation = root["evaluation"].as_table();
  if (!evaluation) return;
  if (models.empty() && !figures) evaluation->erase("spread");
  if (models.empty()) {
    evaluation->erase("densities");
  } else if (toml::table* densities = (*evaluation)["densities"].as_table()) {
    std::vector<std::string> gone;
    for (const auto& [model, density] : *densities)
      if (!models.contains(model.str())) gone.emplace_back(model.str());
    for (const std::string& model : gone) densities->erase(model);
  }
}

/// Puts a protocol on the one that it extends. Where it changes data or evaluation, inherited rows and oracles are of
/// other tasks; where it changes training, rows are of other trainings.
void extend(toml::table& base, toml::table& own) {
  bool oracles_fall = own.contains("data");
  if (const toml::table* evaluation = own["evaluation"].as_table())
    for (const auto& [key, value] : *evaluation)
      oracles_fall = oracles_fall || (key != "tests" && key != "densities" && key != "spread");
  if (oracles_fall || own.contains("training")) {
    drop_figures(base, oracles_fall);
    drop_words_on_figures(base, own);
  }
  put_on(base, own);
}

/// The text of a file that extends nothing and changes no preset: without the line `presets`, and with them at its end.
std::string with_presets(const std::string& text, const std::vector<std::string>& presets) {
  const toml::table own = parse_toml(text, "[protocol]");  // once more: copies of a table do not know their lines
  const auto [key, value] = *own.find(kPresetsKey);
  const auto first = key.source().begin.line, last = value.source().end.line;
  std::string joined;
  std::size_t line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    if (line < first || line > last) joined += text.substr(begin, end - begin);
    begin = end;
  }
  for (const std::string& preset : presets) joined += "\n" + preset;
  return joined;
}

/// Whether a model is in more than one of the tables.
bool overlap(const toml::table& own, const std::vector<toml::table>& presets) {
  std::set<std::string, std::less<>> models;
  const auto is_new = [&models](const toml::table& root) {
    const toml::table* table = root["models"].as_table();
    return !table || std::ranges::all_of(
                         *table, [&models](const auto& entry) { return models.emplace(entry.first.str()).second; });
  };
  return !is_new(own) || !std::ranges::all_of(presets, is_new);
}

}  // namespace

std::string changed_text(std::string_view text, std::span<const std::string> changes) {
  Changes read;
  for (const std::string& change : changes) read_change(change, read);
  toml::table root = parse_toml(text, "[protocol]");
  std::string name = root["name"].value_or(std::string());
  bool oracles_fall = false;
  for (const auto& [key, value] : read) {
    put_on(root, parse_toml(fmt::format("{} = {}", key, value), "[set]"));
    name += fmt::format(" --set {}", shell_word(fmt::format("{}={}", key, value)));
    const std::string_view part = std::string_view(key).substr(0, key.find('.'));
    oracles_fall = oracles_fall || (part != "training" && part != "validation" && part != "models");
  }
  root.insert_or_assign("name", name);
  drop_figures(root, oracles_fall);
  toml::table nothing;
  drop_words_on_figures(root, nothing);
  return toml_text(root);
}

std::vector<DescribedKey> described_file_keys() {
  return {{.name = std::string(kExtendsKey),
           .type = "text",
           .meaning = "name or path of a protocol whose keys hold unless this file changes them",
           .optional = true},
          {.name = std::string(kPresetsKey),
           .type = "text, or an array of texts",
           .meaning = "names or paths of files of [models.…] tables that protocols share",
           .optional = true}};
}

std::string protocol_text(const std::string& name_or_path) {
  if (!built_in(name_or_path) && !name_or_path.ends_with(".toml"))
    fail("[protocol] {} is unknown, neither a protocol nor a path that ends in .toml{}", name_or_path,
         expected_names(name_or_path, protocol_names(), kAllProtocols));
  std::string text = read(name_or_path);
  std::vector<std::string> chain{name_or_path};
  std::vector<toml::table> tables{parse_toml(text, "[protocol] " + name_or_path)};
  for (std::string next = extended_by(tables[0], chain[0]); !next.empty();
       next = extended_by(tables.back(), chain.back())) {
    const bool circle = std::ranges::find(chain, next) != chain.end();
    chain.push_back(next);
    check(!circle, "[protocol] {}: extends forms a circle: {}", name_or_path, fmt::join(chain, ", "));
    check(chain.size() <= kMostExtended + 1,
          "[protocol] {}: extends names more than {} protocols in a row, expected at most {}", name_or_path,
          kMostExtended, kMostExtended);
    check(tables.back().contains("name"), "[protocol] {}: name is missing, expected a string other than the name of {}",
          chain[chain.size() - 2], next);
    tables.push_back(parse_toml(read(next), "[protocol] " + next));
  }
  const std::vector<std::string> presets = presets_of(tables[0], name_or_path);
  if (tables.size() == 1 && presets.empty() && !tables[0].contains(kPresetsKey)) return text;
  if (tables.size() == 1 && !overlap(tables[0], preset_tables(presets, name_or_path)))
    return with_presets(text, presets);
  toml::table whole;
  for (; !tables.empty(); tables.pop_back(), chain.pop_back()) {
    toml::table& own = tables.back();
    for (const toml::table& preset : preset_tables(presets_of(own, chain.back()), chain.back())) put_on(whole, preset);
    for (const std::string_view key : {kExtendsKey, kPresetsKey}) own.erase(key);
    extend(whole, own);
  }
  return toml_text(whole);
}

}  // namespace npzoo
