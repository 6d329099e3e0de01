#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "npzoo/engine/gradcheck.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/gradcheck_cases.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/progress.h"

namespace npzoo::tools {

namespace {

struct GradcheckCommand {
  CommonOptions common;
  std::vector<std::string> ops;
};

void add_flags(Flags& flags, GradcheckCommand& c) {
  add_flags(flags, c.common);
  flags.words("ops", c.ops, "folders under ops/ to check (default: all)");
}

constexpr double kTolerance = 1e-6;

struct OpResult {
  std::string op;
  std::int64_t cases = 0;
  double max_error = 0;
  std::string worst;

  bool passed() const { return max_error <= kTolerance; }
};

/// Names of the operations that a case records: only those count as checked.
std::set<std::string> recorded_operations(const GradcheckCase& c) {
  Tape tape;
  Recording on(tape);
  std::vector<Tensor> inputs = c.inputs;
  for (Tensor& input : inputs)
    if (input.dtype() == DType::float64) tape.watch(input);
  static_cast<void>(c.function(inputs));
  std::set<std::string> names;
  for (std::size_t i = 0; i < tape.size(); ++i) names.emplace(tape.name(i));
  return names;
}

OpResult check_folder(const OpFolder& folder, std::set<std::string>& checked) {
  GradcheckCases cases;
  folder.add_cases(cases);
  OpResult result{folder.name, 0, 0, {}};
  for (const GradcheckCase& c : cases.cases()) {
    const double error = gradcheck(c.function, c.inputs).max_error;
    ++result.cases;
    if (error <= kTolerance) checked.merge(recorded_operations(c));
    if (error <= result.max_error) continue;
    result.max_error = error;
    result.worst = c.label;
  }
  return result;
}

std::vector<OpFolder> chosen_folders(const std::vector<std::string>& names) {
  const auto all = op_folders();
  if (names.empty()) return {all.begin(), all.end()};
  std::vector<OpFolder> chosen;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, [](const OpFolder& f) { return std::string(f.name); });
    if (found == all.end()) {
      std::string known;
      for (const OpFolder& f : all) known += std::string(" ") + f.name;
      fail("[gradcheck] there is no '{}'; expected one of:{}", name, known);
    }
    chosen.push_back(*found);
  }
  return chosen;
}

int run(const GradcheckCommand& c) {
  apply(c.common);
  std::set<std::string> checked;
  std::vector<OpResult> results;
  const std::vector<OpFolder> folders = chosen_folders(c.ops);
  Progress progress("gradcheck", static_cast<std::int64_t>(folders.size()), {.unit = "folders"});
  for (const OpFolder& folder : folders) {
    results.push_back(check_folder(folder, checked));
    progress.update(static_cast<std::int64_t>(results.size()));
  }
  progress.finish();
  std::vector<std::string> unchecked;
  if (c.ops.empty())
    for (const char* name : op_names())
      if (!checked.contains(name)) unchecked.emplace_back(name);
  const bool passed = unchecked.empty() && std::ranges::all_of(results, &OpResult::passed);
  if (c.common.json) {
    JsonValue rows = JsonValue::array();
    for (const OpResult& r : results)
      rows.push_back(
          JsonValue::object({{"op", r.op}, {"cases", r.cases}, {"max_error", r.max_error}, {"passed", r.passed()}}));
    print_json(JsonValue::object({{"passed", passed},
                                  {"device", to_string(default_device())},
                                  {"ops", rows},
                                  {"unchecked", JsonValue::array(unchecked)}}));
  } else {
    for (const OpResult& r : results)
      fmt::print("{:<28} {:>4} cases   largest error {:.1e}   {}\n", r.op, r.cases, r.max_error,
                 r.passed() ? "passed" : "FAILED: " + r.worst);
    for (const std::string& name : unchecked) fmt::print("{:<28} has no check\n", name);
  }
  return passed ? 0 : 1;
}

}  // namespace

extern const CommandInfo gradcheck_command =
    command<GradcheckCommand, add_flags, run>("Compare the gradient of every operation with central differences.",
                                              CommandGroup::check, "npzoo gradcheck linear softmax");

}  // namespace npzoo::tools
