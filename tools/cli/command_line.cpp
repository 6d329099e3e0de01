#include "tools/cli/command_line.h"
#include "npzoo/engine/words.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "npzoo/engine/config.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/safetensors_header.h"
#include "npzoo/engine/ranks/launcher.h"
#include "tools/cli/config_file.h"
#include "tools/cli/messages.h"
#include "tools/cli/usage.h"

namespace npzoo::tools {

namespace {

constexpr int kWrongUsage = 2;

/// "--flag=" is for CLI11 a flag whose value is the next argument. This makes an empty one of it.
std::vector<const char*> with_empty_values(int argc, const char* const* argv, std::vector<std::string>& kept) {
  std::vector<const char*> words(argv, argv + std::min(argc, 1));
  kept.reserve(static_cast<std::size_t>(argc));
  bool flags = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    flags = flags && word != "--";
    if (flags && word.starts_with("--") && word != "--=" && word.find('=') + 1 == word.size()) {
      words.push_back(kept.emplace_back(word.substr(0, word.size() - 1)).c_str());
      words.push_back("");
    } else {
      words.push_back(argv[i]);
    }
  }
  return words;
}

/// Whether nothing is wrong but that the name of a command is missing, as in "npzoo" and "npzoo bench".
bool lacks_command(const CLI::App& app, const CLI::ParseError& e) {
  const CLI::App* last = &app;
  while (!last->get_subcommands().empty()) last = last->get_subcommands().front();
  return e.get_name() == "RequiredError" && app.remaining(true).empty() && last->get_require_subcommand_min() > 0;
}

/// Returns whether the launcher of this process has also started one of a lower rank, which prints what all would
/// print.
bool is_silent(const std::optional<Launcher>& launcher) {
  return launcher && launcher->size.value_or(1) > 1 && launcher->rank.value_or(0) > 0;
}

/// An exit status if there is nothing more to do. A silent process prints nothing.
std::optional<int> parse(CLI::App& app, int argc, const char* const* argv, bool silent = false) {
  try {
    std::vector<std::string> kept;
    const std::vector<const char*> words = with_empty_values(argc, argv, kept);
    app.parse(static_cast<int>(words.size()), words.data());
    return {};
  } catch (const CLI::Success& e) {
    return silent ? 0 : app.exit(e);
  } catch (const CLI::ParseError& e) {
    if (silent) return kWrongUsage;
    if (lacks_command(app, e))
      std::fputs(app.help().c_str(), stderr);
    else
      print_error(usage_error(
          Flags(app),
          {.what = e.what(), .unknown = app.remaining(true), .wrong_value = e.get_name() == "ValidationError"}));
    return kWrongUsage;
  }
}

const char* heading(CommandGroup group) {
  switch (group) {
    case CommandGroup::predict: return "Predict from data";
    case CommandGroup::train: return "Train and score models";
    case CommandGroup::look_up: return "Look something up";
    case CommandGroup::check: return "Check the program and this machine";
  }
  return "";
}

constexpr std::string_view kExample = "Example: ";

/// Lists commands with an example below each.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* command) const override {
    const std::string example = command->get_footer().substr(kExample.size());
    return Formatter::make_subcommand(command) + std::string(get_column_width(), ' ') + example + "\n";
  }
};

CLI::App& add_command(CLI::App& app, const NamedCommand& command) {
  const std::string_view name = command.name;
  const std::size_t space = name.find(' ');
  CLI::App& parent = space == name.npos ? app : *app.get_subcommand(std::string(name.substr(0, space)));
  CLI::App& added = *parent.add_subcommand(std::string(name.substr(space + 1)), command.info->what);
  added.group(space == name.npos ? heading(command.info->group) : "Subcommands");
  added.footer(std::string(kExample) + command.info->example);
  added.fallthrough();
  if (!command.info->make) added.require_subcommand(1);
  return added;
}

}  // namespace

CommandLine::CommandLine(std::span<const NamedCommand> all)
    : app_(std::make_unique<CLI::App>(
          "npzoo fills gaps in tables, draws maps, makes forecasts and completes images, with neural processes.",
          "npzoo")) {
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->set_version_flag("--version", std::string("npzoo ") + kVersion);
  flags()
      .call(
          "--config", [this](const std::string& path) { apply_config(flags(), path); },
          "TOML file of options, one table per command; the command line wins")
      .not_in_files();
  app_->require_subcommand(1);
  app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  for (const NamedCommand& command : all) {
    CLI::App& added = add_command(*app_, command);
    if (!command.info->make) continue;
    commands_.push_back({&added, command.info->make(), command.info->processes});
    Flags flags(added);
    commands_.back().command->add_flags(flags);
  }
}

CommandLine::~CommandLine() = default;

int CommandLine::run(int argc, const char* const* argv) {
  const std::optional<Launcher> launcher = find_launcher();
  if (const std::optional<int> status = parse(*app_, argc, argv, is_silent(launcher))) return *status;
  const CLI::App* chosen = app_.get();
  while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
  const Entry& entry = *std::ranges::find(commands_, chosen, &Entry::app);
  const int processes = launcher ? launcher->size.value_or(1) : 1;
  if (processes > 1 && entry.processes == Processes::one) {
    if (!is_silent(launcher))
      print_error(
          fmt::format("[mpi] {} started npzoo {} as {} processes, expected one: this command does not share its work",
                      launcher->name, chosen->get_name(), processes));
    return kWrongUsage;
  }
  return entry.command->run();
}

std::string CommandLine::help(const std::vector<std::string>& names) const {
  CLI::App* at = app_.get();
  std::string before;
  for (const std::string& name : names) {
    const std::vector<std::string> known = command_names(Flags(*at));
    check(!known.empty(), "'{}' has no commands of its own, found {}", at->get_name(), excerpt(name));
    check(std::ranges::find(known, name) != known.end(), "there is no command {}{}", excerpt(name),
          expected_words(name, known));
    before += (before.empty() ? "" : " ") + at->get_name();
    at = at->get_subcommand(name);
  }
  return names.empty() ? at->get_formatter()->make_help(at, at->get_name(), CLI::AppFormatMode::Normal)
                       : at->help(before);
}

int run_program(const std::string& name, const CommandInfo& info, int argc, const char* const* argv) {
  const std::unique_ptr<Command> command = info.make();
  CLI::App app(info.what, name);
  Flags flags(app);
  command->add_flags(flags);
  const std::optional<int> status = parse(app, argc, argv);
  return status ? *status : command->run();
}

}  // namespace npzoo::tools
