#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>

#include "npzoo/datasets/events/fit.h"
#include "npzoo/datasets/events/table.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/outputs.h"

namespace npzoo::tools {

namespace {

struct FitEventsCommand {
  CommonOptions common;
  std::filesystem::path table, out;
  std::string sequence = "sequence", time = "time", mark = "mark";
  std::int64_t parts = 24;
  std::optional<double> start, end, clock;
};

void add_flags(Flags& flags, FitEventsCommand& c) {
  add_flags(flags, c.common);
  flags.text("TABLE", c.table, "table of events, one row an event").required();
  flags.text("--sequence", c.sequence, "column of the sequence");
  flags.text("--time", c.time, "column of times, numbers that ascend within a sequence");
  flags.text("--mark", c.mark, "column of marks, whole numbers from 0 on; '' if there is one mark alone");
  flags.positive("--start", c.start,
                 "begin of observation, in the table's unit; it is subtracted from all times. Default: 0");
  flags.positive("--end", c.end, "end of observation of each sequence. Default: its last event");
  flags.positive("--clock", c.clock,
                 "period of a Poisson process whose rates repeat, such as 24 for hours, to fit too");
  flags.whole("--parts", c.parts, {1, 10'000}, "equal parts of that period, each with a rate");
  flags.text("--out", c.out, "TOML file to write the process with the lowest AIC to, for `npzoo oracle --process`");
}

void print(const FittedProcess& fitted, std::int64_t events) {
  fmt::print("{}: log-likelihood {:.6f} per event, AIC {:.3f}\n", fitted.process->name(),
             fitted.log_likelihood / static_cast<double>(events), fitted.criterion);
  for (const FittedParameter& p : fitted.parameters)
    fmt::print("  {:<24} {:>12.6g}{}\n", p.name, p.value,
               std::isnan(p.standard_error) ? " (at the border)" : fmt::format(" ± {:.3g}", p.standard_error));
}

JsonValue to_json(const FittedProcess& fitted) {
  JsonValue parameters = JsonValue::array();
  for (const FittedParameter& p : fitted.parameters)
    parameters.push_back(
        JsonValue::object({{"name", p.name}, {"value", p.value}, {"standard_error", p.standard_error}}));
  return JsonValue::object({{"process", fitted.process->name()},
                            {"total", fitted.log_likelihood},
                            {"aic", fitted.criterion},
                            {"parameters", parameters}});
}

void write(const FitEventsCommand& c, const FittedProcess& best) {
  if (c.out.empty()) return;
  std::ofstream file(c.out);
  file << best.text;
  if (c.start) file << fmt::format("start = {}\n", *c.start);
  if (c.end) file << fmt::format("end = {}\n", *c.end);
  file.flush();
  check(file.good(), "[fit] {} cannot be written", c.out.string());
}

int run(const FitEventsCommand& c) {
  apply(c.common);
  check_outputs("fit", c.common, {{"--out", c.out}}, {{"TABLE", c.table}});
  constexpr std::int64_t kMostMarks = 1000;
  const EventTable table = read_event_table(c.table, {.sequence = c.sequence,
                                                      .time = c.time,
                                                      .mark = c.mark,
                                                      .marks = c.mark.empty() ? 1 : kMostMarks,
                                                      .end = c.end,
                                                      .start = c.start.value_or(0)});
  const std::vector<NamedSequence>& named = table.sequences;
  if (const std::string late = warning_of_late_start(named, {.start = c.start.value_or(0)}); !late.empty())
    fmt::print(stderr, "npzoo: warning: {}: {}\n", c.table.string(), late);
  std::vector<EventSequence> sequences;
  std::int64_t marks = 1, events = 0;
  for (const NamedSequence& s : named) {
    events += s.events.events();
    for (const std::int64_t mark : s.events.marks) marks = std::max(marks, mark + 1);
    sequences.push_back(s.events);
  }
  const InterruptGuard interrupt;
  const StopScope scope(interrupt.token());
  try {
    std::vector<FittedProcess> all{fit_poisson(sequences, marks)};
    if (c.clock) all.push_back(fit_clock_poisson(sequences, marks, *c.clock, c.parts));
    all.push_back(fit_hawkes(sequences, marks));
    write(c, *std::ranges::min_element(all, {}, &FittedProcess::criterion));
    JsonValue json = JsonValue::array();
    if (!c.common.json) fmt::print("{} events of {} marks in {} sequences\n", events, marks, sequences.size());
    for (const FittedProcess& fitted : all) c.common.json ? json.push_back(to_json(fitted)) : print(fitted, events);
    if (c.common.json) print_json(json);
  } catch (const Interrupted&) {
    return kInterruptedExit;
  }
  return 0;
}

}  // namespace

extern const CommandInfo fit_events_command = command<FitEventsCommand, add_flags, run>(
    "Fit Poisson and Hawkes processes to a table of events by maximum likelihood, with standard errors.",
    CommandGroup::predict, "npzoo fit events events.csv --out best.toml");

}  // namespace npzoo::tools
