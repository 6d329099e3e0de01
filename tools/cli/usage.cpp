#include "tools/cli/usage.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
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
  const CLI::App* app;
  std::string path;
};

Chosen chosen_command(const CLI::App& app) {
  Chosen chosen{&app, {}};
  while (!chosen.app->get_subcommands().empty()) {
    chosen.app = chosen.app->get_subcommands().front();
    chosen.path += (chosen.path.empty() ? "" : " ") + chosen.app->get_name();
  }
  return chosen;
}

std::string unknown_word(const CLI::App& app, const Chosen& chosen, const std::vector<std::string>& words) {
  const std::vector<std::string> commands = command_names(*chosen.app);
  const auto is_flag = [](const std::string& word) { return word.starts_with('-'); };
  const auto name = std::ranges::find_if_not(words, is_flag);
  if (!commands.empty() && name != words.end())
    return fmt::format("there is no command {}{}", excerpt(*name), expected_words(*name, commands));
  const std::string& word = words.front();
  if (!is_flag(word)) return fmt::format("{} found, expected no further argument", excerpt(word));
  std::vector<std::string> flags = flag_names(*chosen.app);
  for (const std::string& name : flag_names(app))
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

void check_values_given(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return;
    if (word.starts_with("--") && word.find('=') + 1 == word.size())
      throw CLI::ArgumentMismatch(fmt::format("{} found, expected a value after it", excerpt(word)));
  }
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const Chosen chosen = chosen_command(app);
  std::vector<std::string> unknown = app.remaining(true);
  std::erase(unknown, "--");
  // A stray argument may be due to a flag that took the name of the next one for its value.
  const bool flag = !unknown.empty() && unknown.front().starts_with('-');
  std::string problem;
  if (flag || (!unknown.empty() && error.get_name() != "ValidationError"))
    problem = unknown_word(app, chosen, unknown);
  else if (const auto commands = command_names(*chosen.app); !commands.empty() && error.get_name() == "RequiredError")
    problem = fmt::format("nothing found, expected a command: {}", fmt::join(commands, ", "));
  else
    problem = error.what();
  const std::string program = "npzoo" + (chosen.path.empty() ? "" : " " + chosen.path);
  return fmt::format("[{}] {} ({} --help tells more)", chosen.path.empty() ? "npzoo" : chosen.path, problem, program);
}

}  // namespace npzoo
