#include <fmt/core.h>

#include "npzoo/engine/error.h"
#include "tools/cli/candidates.h"
#include "tools/cli/command_line.h"

namespace npzoo::tools {

namespace {

// All of them ask the program what may follow; where it knows nothing, files are offered. Readline takes what stands
// behind ':' and '=' for words of their own.
constexpr const char* kBash = R"(_npzoo() {
  local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT}
  local word=${line##*[[:space:]]}
  local last=$word
  COMPREPLY=($("$1" completion candidates "$line" 2>/dev/null))
  [[ $COMP_WORDBREAKS == *:* ]] && last=${last##*:}
  [[ $COMP_WORDBREAKS == *=* ]] && last=${last##*=}
  COMPREPLY=("${COMPREPLY[@]#"${word%"$last"}"}")
}
complete -o default -F _npzoo npzoo
)";

constexpr const char* kZsh = R"(#compdef npzoo
_npzoo() {
  local -a candidates
  candidates=("${(@f)$("${words[1]}" completion candidates "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
  candidates=(${candidates:#})
  if (( $#candidates )); then compadd -a candidates; else _files; fi
}
if [ "$funcstack[1]" = _npzoo ]; then _npzoo "$@"; else compdef _npzoo npzoo; fi
)";

constexpr const char* kFish = R"(function __npzoo_candidates
  npzoo completion candidates (commandline -cp) 2>/dev/null
end
complete -c npzoo -n 'count (__npzoo_candidates) >/dev/null' -f -a '(__npzoo_candidates)'
complete -c npzoo -n 'not count (__npzoo_candidates) >/dev/null' -F
)";

struct CompletionCommand {
  std::string what, line;
};

void add_flags(Flags& flags, CompletionCommand& c) {
  flags
      .choice("what", c.what, {"bash", "zsh", "fish", "candidates"},
              "bash, zsh or fish; candidates is for those scripts")
      .required();
  flags.text("line", c.line, "for candidates, the command line as far as it is typed");
  flags.check_together([&c] {
    check((c.what == "candidates") == !c.line.empty(), "{}",
          c.line.empty() ? "nothing found after candidates, expected a command line"
                         : "a command line found, expected one after candidates alone");
  });
}

int run(const CompletionCommand& c) {
  if (c.what != "candidates") {
    fmt::print("{}", c.what == "bash" ? kBash : c.what == "zsh" ? kZsh : kFish);
    return 0;
  }
  const CommandLine line(commands());
  for (const std::string& word : candidates(line.flags(), c.line)) fmt::print("{}\n", word);
  return 0;
}

}  // namespace

extern const CommandInfo completion_command =
    command<CompletionCommand, add_flags, run>("Print the script that completes commands, flags and names in a shell.",
                                               CommandGroup::check, "npzoo completion bash");

}  // namespace npzoo::tools
