#include "tools/cli/candidates.h"

#include <algorithm>
#include <sstream>

#include "npzoo/models/registry.h"
#include "npzoo/models/training/named_weights.h"
#include "tools/cli/usage.h"

namespace npzoo::tools {

namespace {

std::vector<std::string> weights_names() {
  std::vector<std::string> names;
  for (const NamedWeights& weights : named_weights()) names.push_back(weights.name);
  return names;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelInfo& model : models()) names.emplace_back(model.name);
  return names;
}

/// Returns the possible values of a flag, if they can be listed.
std::vector<std::string> values_of(const Flag& flag, const Flags& program, const Flags& command) {
  const std::string name = flag.name(), of = command.command();
  const auto is = [&name](auto... names) { return ((name == names) || ...); };
  if (is("model", "models")) return model_names();
  if (is("protocol") || (of == "reproduce" && is("table"))) return protocol_names();
  if (is("checkpoint", "init", "grid")) return weights_names();
  if (of == "help") {
    std::vector<std::string> names = command_names(program);
    names.emplace_back(kProtocolTopic);
    return names;
  }
  if (of == "list" && is("name")) return model_names();
  if (of == "info" && is("name")) {
    std::vector<std::string> names = protocol_names(), weights = weights_names(), known_models = model_names();
    names.insert(names.end(), known_models.begin(), known_models.end());
    names.insert(names.end(), weights.begin(), weights.end());
    return names;
  }
  return flag.choices();
}

bool takes_value(const Flag& flag) { return !flag.is_word() && flag.type() != FlagType::flag; }

/// The flag that "--name" is.
std::optional<Flag> find_flag(const Flags& command, std::string_view word) {
  if (!word.starts_with("--")) return {};
  for (const Flag& flag : command.all())
    if (!flag.is_word() && flag.name() == word.substr(2)) return flag;
  return {};
}

/// Those of `words` that begin as `begun` does; of a list, the last of its elements.
std::vector<std::string> completed(std::string begun, const std::vector<std::string>& words, bool list,
                                   const std::string& before = {}) {
  std::string kept = before;
  if (const std::size_t comma = begun.rfind(','); list && comma != std::string::npos) {
    kept += begun.substr(0, comma + 1);
    begun.erase(0, comma + 1);
  }
  std::vector<std::string> found;
  for (const std::string& word : words)
    if (word.starts_with(begun)) found.push_back(kept + word);
  return found;
}

}  // namespace

std::vector<std::string> candidates(const Flags& program, std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  std::string last;
  if (!words.empty() && !line.ends_with(' ')) {
    last = words.back();
    words.pop_back();
  }

  Flags command = program;
  std::optional<Flag> open;  // a flag whose value comes next
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (open) {
      open.reset();
      continue;
    }
    open = find_flag(command, words[i]);
    if (open && !takes_value(*open)) open.reset();
    const std::vector<Flags> below = command.commands();
    const auto named = std::ranges::find(below, words[i], &Flags::command);
    if (named != below.end()) command = *named;
  }

  const auto list = [](const Flag& flag) { return flag.type() == FlagType::texts && flag.is_list(); };
  if (open) return completed(last, values_of(*open, program, command), list(*open));
  if (const std::size_t equals = last.find('='); last.starts_with("--") && equals != last.npos) {
    const std::optional<Flag> flag = find_flag(command, last.substr(0, equals));
    if (!flag) return {};
    return completed(last.substr(equals + 1), values_of(*flag, program, command), list(*flag),
                     last.substr(0, equals + 1));
  }
  std::vector<std::string> known = command_names(command);
  for (const Flag& flag : command.all())
    if (flag.is_word())
      for (const std::string& value : values_of(flag, program, command)) known.push_back(value);
  const std::vector<std::string> flags = flag_names(command);
  known.insert(known.end(), flags.begin(), flags.end());
  return completed(last, known, false);
}

}  // namespace npzoo::tools
