#include "tools/cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "npzoo/engine/io/safetensors_header.h"
#include "npzoo/engine/words.h"
#include "tools/cli/own_program.h"

namespace npzoo::tools {

namespace {

/// The command that was chosen, and all of its name.
struct Chosen {
  Flags flags;
  std::string path;
};

Chosen chosen_command(const Flags& program) {
  Chosen chosen{program, {}};
  while (const std::optional<Flags> next = chosen.flags.chosen()) {
    chosen.flags = *next;
    if (!chosen.path.empty()) chosen.path += ' ';
    chosen.path += next->command();
  }
  return chosen;
}

/// Words that people try as commands.
struct NamedUse {
  std::string_view word, command;
};
constexpr NamedUse kUses[] = {{"forecast", "predict TABLE --horizon 12"},
                              {"fill", "predict TABLE"},
                              {"impute", "predict TABLE"},
                              {"interpolate", "predict TABLE"},
                              {"map", "predict TABLE --grid 100x80"},
                              {"grid", "predict TABLE --grid 100x80"}};

/// The flag that a word is, if it takes a list.
bool takes_list(const Flags& command, const std::string& word) {
  if (!word.starts_with("--")) return false;
  for (const Flag& flag : command.all())
    if (!flag.is_word() && flag.name() == word.substr(2)) return flag.is_list();
  return false;
}

std::string unknown_word(const Flags& program, const Chosen& chosen, const std::vector<std::string>& words) {
  const std::vector<std::string> commands = command_names(chosen.flags);
  const auto is_flag = [](const std::string& word) { return word.starts_with('-'); };
  const auto name = std::ranges::find_if_not(words, is_flag);
  if (!commands.empty() && name != words.end() && chosen.path.empty())
    if (const auto use = std::ranges::find(kUses, *name, &NamedUse::word); use != std::end(kUses))
      return fmt::format("there is no command {}, use npzoo {}", excerpt(*name), use->command);
  if (!commands.empty() && name != words.end())
    return fmt::format("there is no command {}{}", excerpt(*name), expected_words(*name, commands));
  const std::string& word = words.front();
  if (!is_flag(word))
    return fmt::format("{} found, expected no further argument{}", excerpt(word),
                       split_list_hint(chosen.flags, command_words(), words));
  std::vector<std::string> flags = flag_names(chosen.flags);
  for (const std::string& name : flag_names(program))
    if (std::ranges::find(flags, name) == flags.end()) flags.push_back(name);
  const std::string flag = word.substr(0, word.find('='));
  if (std::ranges::find(flags, flag) != flags.end())
    return fmt::format("{} found before the command, expected after it", excerpt(flag));
  return fmt::format("there is no flag {}{}", excerpt(flag), expected_words(flag, flags));
}

}  // namespace

std::vector<std::string> command_names(const Flags& flags) {
  std::vector<std::string> names;
  for (const Flags& command : flags.commands()) names.push_back(command.command());
  return names;
}

std::vector<std::string> flag_names(const Flags& flags) {
  std::vector<std::string> names;
  for (const Flag& flag : flags.all())
    if (!flag.is_word()) names.push_back(fmt::format("--{}", flag.name()));
  return names;
}

std::string split_list_hint(const Flags& command, std::span<const std::string> line,
                            std::span<const std::string> words) {
  for (std::size_t i = 0; i + 2 < line.size(); ++i) {
    if (!takes_list(command, line[i])) continue;
    std::string joined = line[i + 1];
    std::size_t next = i + 2;
    for (; next < line.size() && std::ranges::count(words, line[next]) > 0 && !std::filesystem::exists(line[next]);
         ++next)
      joined += ',' + line[next];
    if (next > i + 2) return fmt::format("; lists have commas: {} {}", line[i], joined);
  }
  return "";
}

std::string usage_error(const Flags& program, UsageProblem problem) {
  const Chosen chosen = chosen_command(program);
  std::vector<std::string>& unknown = problem.unknown;
  std::erase(unknown, "--");
  // A stray argument may be due to a flag that took the name of the next one for its value.
  const bool flag = !unknown.empty() && unknown.front().starts_with('-');
  std::string& what = problem.what;
  if (flag || (!unknown.empty() && !problem.wrong_value))
    what = unknown_word(program, chosen, unknown);
  else if (const std::size_t end = what.find(": 1 required "); end != what.npos)  // as CLI11 has it
    what = what.substr(0, end) + " needs a value";
  const std::string name = program.command(),
                    asked = chosen.path.empty() ? name : fmt::format("{} {}", name, chosen.path);
  return fmt::format("[{}] {} ({} --help shows all)", chosen.path.empty() ? name : chosen.path, what, asked);
}

}  // namespace npzoo::tools
