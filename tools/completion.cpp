#include "tools/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "datasets/protocol.h"
#include "models/registry.h"

namespace npzoo {

namespace {

struct Words {
  std::string name;
  std::vector<std::string> flags;
};

std::vector<Words> commands(const CLI::App& app) {
  std::vector<Words> found;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    Words words{sub->get_name(), {}};
    for (const CLI::Option* option : sub->get_options())
      for (const std::string& name : option->get_lnames()) words.flags.push_back("--" + name);
    found.push_back(std::move(words));
  }
  return found;
}

std::string model_words() {
  std::vector<std::string> names;
  for (const ModelInfo& model : models()) names.emplace_back(model.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string protocol_words() { return fmt::format("{}", fmt::join(protocol_names(), " ")); }

std::string bash_script(const std::vector<Words>& all) {
  std::string names, cases;
  for (const Words& words : all) {
    names += (names.empty() ? "" : " ") + words.name;
    cases += fmt::format("    {}) words=\"{}\" ;;\n", words.name, fmt::join(words.flags, " "));
  }
  return fmt::format(R"(_npzoo() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words=""
  case $previous in
    --model) words="{}" ;;
    --protocol) words="{}" ;;
    --device) words="cpu cuda auto" ;;
    --checkpoint|--context|--targets|--out|--config) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  if [ -z "$words" ] && [ "$COMP_CWORD" -eq 1 ]; then words="{}"; fi
  if [ -z "$words" ]; then case ${{COMP_WORDS[1]}} in
{}  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o filenames -F _npzoo npzoo
)",
                     model_words(), protocol_words(), names, cases);
}

std::string fish_script(const std::vector<Words>& all) {
  std::string script = "complete -c npzoo -f\n";
  for (const Words& words : all) {
    script += fmt::format("complete -c npzoo -n __fish_use_subcommand -a {}\n", words.name);
    for (const std::string& flag : words.flags)
      script +=
          fmt::format("complete -c npzoo -n '__fish_seen_subcommand_from {}' -l {}{}\n", words.name, flag.substr(2),
                      flag == "--model"      ? fmt::format(" -xa '{}'", model_words())
                      : flag == "--protocol" ? fmt::format(" -xa '{}'", protocol_words())
                                             : "");
  }
  return script + "complete -c npzoo -l checkpoint -rF\ncomplete -c npzoo -l out -rF\n";
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const auto all = commands(app);
  if (shell == "fish") return fish_script(all);
  const std::string script = bash_script(all);
  return shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" + script : script;
}

}  // namespace npzoo
