#include "tools/cli/usage.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/io/safetensors_header.h"

namespace npzoo {

namespace {

/// Letters to insert, delete or replace, and neighbours to swap, until `a` is `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

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

std::string unknown_word(const Flags& program, const Chosen& chosen, const std::vector<std::string>& words) {
  const std::vector<std::string> commands = command_names(chosen.flags);
  const auto is_flag = [](const std::string& word) { return word.starts_with('-'); };
  const auto name = std::ranges::find_if_not(words, is_flag);
  if (!commands.empty() && name != words.end())
    return fmt::format("there is no command {}{}", excerpt(*name), expected_words(*name, commands));
  const std::string& word = words.front();
  if (!is_flag(word)) return fmt::format("{} found, expected no further argument", excerpt(word));
  std::vector<std::string> flags = flag_names(chosen.flags);
  for (const std::string& name : flag_names(program))
    if (std::ranges::find(flags, name) == flags.end()) flags.push_back(name);
  const std::string flag = word.substr(0, word.find('='));
  if (std::ranges::find(flags, flag) != flags.end())
    return fmt::format("{} found before the command, expected after it", excerpt(flag));
  return fmt::format("there is no flag {}{}", excerpt(flag), expected_words(flag, flags));
}

}  // namespace

std::string expected_words(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 40;
  const auto distance = [word](const std::string& other) { return edit_distance(word, other); };
  const auto nearest = word.size() > kLongest ? known.end() : std::ranges::min_element(known, {}, distance);
  if (nearest != known.end() && distance(*nearest) <= std::max<std::size_t>(1, word.size() / 3))
    return fmt::format(", did you mean '{}'?", *nearest);
  return fmt::format(", expected one of: {}", fmt::join(known, ", "));
}

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

std::string usage_error(const Flags& program, UsageProblem problem) {
  const Chosen chosen = chosen_command(program);
  std::vector<std::string>& unknown = problem.unknown;
  std::erase(unknown, "--");
  // A stray argument may be due to a flag that took the name of the next one for its value.
  const bool flag = !unknown.empty() && unknown.front().starts_with('-');
  std::string& what = problem.what;
  if (flag || (!unknown.empty() && !problem.wrong_value))
    what = unknown_word(program, chosen, unknown);
  else if (const auto commands = command_names(chosen.flags); !commands.empty() && problem.missing)
    what = fmt::format("nothing found, expected a command: {}", fmt::join(commands, ", "));
  const std::string name = program.command(),
                    asked = chosen.path.empty() ? name : fmt::format("{} {}", name, chosen.path);
  return fmt::format("[{}] {} ({} --help tells more)", chosen.path.empty() ? name : chosen.path, what, asked);
}

}  // namespace npzoo
