#include "npzoo/models/parity/parity.h"

#include <fmt/core.h>

#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/progress.h"

namespace npzoo::tools {

namespace {

struct ParityCommand {
  CommonOptions common;
  std::vector<std::string> files;
};

void add_flags(Flags& flags, ParityCommand& c) {
  add_flags(flags, c.common);
  flags.words("files", c.files, "recorded runs (safetensors)").required();
}

/// "eval.mae, train.layer.* (12)": names that share their first two words are counted together.
std::string grouped(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::int64_t>> groups;
  std::string text;
  for (const std::string& name : names) {
    const std::size_t word = name.find('.'), two = word == name.npos ? name.npos : name.find('.', word + 1);
    const std::string start = name.substr(0, two) + (two == name.npos ? "" : ".*");
    if (groups.empty() || groups.back().first != start) groups.emplace_back(start, 0);
    ++groups.back().second;
  }
  for (const auto& [start, count] : groups) {
    text += (text.empty() ? "" : ", ") + start;
    if (start.ends_with(".*")) text += fmt::format(" ({})", count);
  }
  return text;
}

int run(const ParityCommand& c) {
  apply(c.common);
  JsonValue rows = JsonValue::array();
  bool passed = true;
  std::int64_t done = 0;
  std::string table;  // printed when the progress is over, which may be on the same terminal
  Progress progress("parity", static_cast<std::int64_t>(c.files.size()), {.unit = "files"});
  for (const std::string& file : c.files) {
    const ParityReport report = check_parity(file);
    passed &= report.passed();
    progress.update(++done);
    table += fmt::format("{} ({}): {}\n", report.file, report.model, report.passed() ? "equal" : "DIFFERENT");
    JsonValue quantities = JsonValue::array();
    for (const ParityQuantity& q : report.quantities) {
      quantities.push_back(JsonValue::object({{"name", q.name}, {"max_error", q.max_error}}));
      table += fmt::format("  {:<26} {:.1e}  (allowed {:.0e})\n", q.name, q.max_error, q.tolerance);
    }
    if (!report.not_compared.empty()) table += fmt::format("  not compared: {}\n", grouped(report.not_compared));
    JsonValue not_compared = JsonValue::array();
    for (const std::string& name : report.not_compared) not_compared.push_back(JsonValue(name));
    rows.push_back(JsonValue::object({{"file", report.file},
                                      {"model", report.model},
                                      {"max_error", report.max_error()},
                                      {"passed", report.passed()},
                                      {"quantities", quantities},
                                      {"not_compared", not_compared}}));
  }
  progress.finish();
  if (c.common.json)
    print_json(rows);
  else
    fmt::print("{}", table);
  return passed ? 0 : 1;
}

}  // namespace

extern const CommandInfo parity_command =
    command<ParityCommand, add_flags, run>("Repeat runs recorded from the authors' own code.", CommandGroup::check,
                                           "npzoo parity tests/golden/cnp.a.safetensors");

}  // namespace npzoo::tools
