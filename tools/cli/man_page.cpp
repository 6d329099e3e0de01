#include "tools/cli/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "npzoo/engine/config.h"

namespace npzoo::tools {

namespace {

/// As roff reads it: nothing in it is a request or an escape, and hyphens can be searched for and copied.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  if (escaped.starts_with('.') || escaped.starts_with('\'')) escaped.insert(0, "\\&");
  return escaped;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", roff(text)); }
std::string italic(std::string_view text) { return fmt::format("\\fI{}\\fR", roff(text)); }

std::string synopsis(const std::string& asked, const Flags& command) {
  std::string line = bold(asked);
  const auto add = [&line](const std::string& part, bool needed) {
    line += needed ? " " + part : fmt::format(" [{}]", part);
  };
  bool optional_flags = false;
  for (const Flag& flag : command.all()) {
    if (flag.is_word() || !flag.needed()) {
      optional_flags = optional_flags || !flag.is_word();
      continue;
    }
    add(fmt::format("{} {}", bold("--" + flag.name()), italic(flag.value_name())), true);
  }
  if (optional_flags) add(italic("options"), false);
  if (!command.commands().empty()) add(italic("command"), true);
  for (const Flag& flag : command.all())
    if (flag.is_word()) add(italic(flag.name()) + (flag.repeats() ? " ..." : ""), flag.needed());
  return line;
}

std::string option(const Flag& flag) {
  std::string head = flag.is_word() ? italic(flag.name()) : bold("--" + flag.name());
  if (!flag.is_word() && !flag.value_name().empty()) head += " " + italic(flag.value_name());
  std::string text = roff(flag.help());
  if (!flag.shown_default().empty()) text += fmt::format(" (default: {})", roff(flag.shown_default()));
  if (flag.needed()) text += " (required)";
  return fmt::format(".TP\n{}\n{}\n", head, text);
}

std::string options(const Flags& command, bool words) {
  std::string own, common;
  for (const Flag& flag : command.all())
    if (flag.is_word() == words) (flag.is_common() ? common : own) += option(flag);
  return own + common;
}

constexpr const char* kExitStatus = R"(.SH EXIT STATUS
.TP
0
all is well
.TP
1
an error, with one line on standard error
.TP
2
a command line that cannot be understood
.TP
130
stopped by Ctrl\-C, SIGTERM or the end of the terminal; the work so far is saved
)";

constexpr const char* kEnvironment = R"(.SH ENVIRONMENT
.TP
.B NPZOO_WEIGHTS
folder where trained weights are looked for first, as PROTOCOL/MODEL.safetensors
.TP
.B NPZOO_ISA
instruction set of the kernels (generic, avx2 or avx512) instead of the best that the processor has
)";

}  // namespace

std::string man_page(const Flags& program, const std::vector<std::string>& names) {
  Flags command = program;
  std::string asked = program.command(), page = asked;
  for (const std::string& name : names) {
    const std::vector<Flags> below = command.commands();
    command = *std::ranges::find(below, name, &Flags::command);
    asked += " " + name;
    page += "-" + name;
  }
  std::string title = page, sentence = command.what();
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string brief = sentence.substr(0, sentence.find_last_not_of('.') + 1);
  if (!names.empty()) brief[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(brief[0])));

  std::string text = fmt::format(".TH {} 1 \"\" \"npzoo {}\" \"npzoo manual\"\n.SH NAME\n{} \\- {}\n", title, kVersion,
                                 roff(page), roff(brief));
  text += fmt::format(".SH SYNOPSIS\n{}\n.SH DESCRIPTION\n{}\n", synopsis(asked, command), roff(sentence));
  std::string see_also = names.empty() ? "" : bold("npzoo") + "(1)";
  if (const std::vector<Flags> below = command.commands(); !below.empty()) {
    text += ".SH COMMANDS\n";
    for (const Flags& one : below) {
      text += fmt::format(".TP\n{}\n{}\n", bold(one.command()), roff(one.what()));
      see_also += fmt::format("{}{}(1)", see_also.empty() ? "" : ", ", bold(page + "-" + one.command()));
    }
  }
  if (const std::string words = options(command, true); !words.empty()) text += ".SH ARGUMENTS\n" + words;
  text += ".SH OPTIONS\n" + options(command, false) + kExitStatus;
  if (const std::string example = command.example(); !example.empty())
    text += fmt::format(".SH EXAMPLE\n.nf\n{}\n.fi\n", roff(example));
  if (names.empty()) text += kEnvironment;
  return text + ".SH SEE ALSO\n" + see_also + "\n";
}

}  // namespace npzoo::tools
