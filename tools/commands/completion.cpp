#include <fmt/format.h>

#include <algorithm>

#include "datasets/protocol.h"
#include "models/registry.h"
#include "tools/cli/command_line.h"
#include "tools/cli/usage.h"

namespace npzoo {

namespace {

struct Words {
  std::string path;                   // "train", "bench scaling"
  std::vector<std::string> commands;  // or protocols, that may follow
  std::vector<std::string> flags;
};

/// Every command below; those of a command come before it.
std::vector<Words> all_words(const Flags& above, const std::string& prefix = {}) {
  std::vector<Words> found;
  for (const Flags& command : above.commands()) {
    Words words{prefix + command.command(), command_names(command), flag_names(command)};
    for (const Flag& flag : command.all())
      if (flag.is_word() && flag.name() == "protocol") words.commands = protocol_names();
    const std::vector<Words> below = all_words(command, words.path + " ");
    found.insert(found.end(), below.begin(), below.end());
    found.push_back(std::move(words));
  }
  return found;
}

std::vector<std::string> top_commands(const std::vector<Words>& all) {
  std::vector<std::string> names;
  for (const Words& words : all)
    if (words.path.find(' ') == std::string::npos) names.push_back(words.path);
  return names;
}

std::string model_words() {
  std::vector<std::string> names;
  for (const ModelInfo& model : models()) names.emplace_back(model.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string protocol_words() { return fmt::format("{}", fmt::join(protocol_names(), " ")); }

std::string bash_script(const std::vector<Words>& all) {
  std::string cases;
  for (const Words& words : all) {
    std::vector<std::string> next = words.commands;
    next.insert(next.end(), words.flags.begin(), words.flags.end());
    cases += fmt::format("    \"{} \"*) words=\"{}\" ;;\n", words.path, fmt::join(next, " "));
  }
  return fmt::format(R"(_npzoo() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words=""
  case $previous in
    --model|--models) words="{}" ;;
    --protocol) words="{}" ;;
    --device) words="cpu cuda auto emulated" ;;
    --checkpoint|--context|--targets|--out|--config) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  if [ -z "$words" ] && [ "$COMP_CWORD" -eq 1 ]; then words="{}"; fi
  if [ -z "$words" ]; then case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}} " in
{}  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o filenames -F _npzoo npzoo
)",
                     model_words(), protocol_words(), fmt::join(top_commands(all), " "), cases);
}

std::string fish_script(const std::vector<Words>& all) {
  std::string script = "complete -c npzoo -f\n";
  for (const std::string& name : top_commands(all))
    script += fmt::format("complete -c npzoo -n __fish_use_subcommand -a {}\n", name);
  for (const Words& words : all) {
    const std::string name = words.path.substr(words.path.find(' ') + 1);
    for (const std::string& nested : words.commands)
      script += fmt::format(
          "complete -c npzoo -n '__fish_seen_subcommand_from {}; and not __fish_seen_subcommand_from {}' -a {}\n", name,
          fmt::join(words.commands, " "), nested);
    for (const std::string& flag : words.flags) {
      const bool model = flag == "--model" || flag == "--models";
      const std::string values = model ? model_words() : flag == "--protocol" ? protocol_words() : "";
      script += fmt::format("complete -c npzoo -n '__fish_seen_subcommand_from {}' -l {}{}\n", name, flag.substr(2),
                            values.empty() ? "" : fmt::format(" -xa '{}'", values));
    }
  }
  return script + "complete -c npzoo -l checkpoint -rF\ncomplete -c npzoo -l out -rF\n";
}

struct CompletionCommand {
  std::string shell;
};

void add_flags(Flags& flags, CompletionCommand& c) {
  flags.choice("shell", c.shell, {"bash", "zsh", "fish"}, "bash, zsh or fish").required();
}

int run(const CompletionCommand& c) {
  const CommandLine line(commands());
  std::vector<Words> all = all_words(line.flags());
  std::ranges::find(all, "help", &Words::path)->commands = top_commands(all);
  const char* before = c.shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "";
  fmt::print("{}{}", before, c.shell == "fish" ? fish_script(all) : bash_script(all));
  return 0;
}

}  // namespace

extern const CommandInfo completion_command =
    command<CompletionCommand, add_flags, run>("Print the script that completes commands and flags in a shell.");

}  // namespace npzoo
