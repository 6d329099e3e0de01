#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>

#include "npzoo/datasets/events/event_columns.h"
#include "npzoo/datasets/events/fit.h"
#include "npzoo/datasets/events/scores.h"
#include "npzoo/datasets/events/table_facts.h"
#include "npzoo/datasets/tables/table.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"
#include "npzoo/engine/words.h"
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
  std::optional<std::string> sequence, time, mark;  // columns; empty: none
  std::int64_t parts = 24;
  std::optional<double> start, end, clock;
  std::string dates;
};

void add_flags(Flags& flags, FitEventsCommand& c) {
  add_flags(flags, c.common);
  flags.text("TABLE", c.table, "table of events, one row an event").required();
  flags.text_or_none("--sequence", c.sequence,
                     "column of the sequence; '' if all rows are one. Default: sequence, if there is such a column");
  flags.text("--time", c.time,
             "column of times: numbers or dates, ascending or newest first in a sequence. Default: time, or the only "
             "column of dates");
  flags.text_or_none("--mark", c.mark,
                     "column of kinds of events, numbers or words; '' if there is one kind. Default: mark, if there is "
                     "such a column");
  flags.choice(
      "--dates", c.dates, {"dmy", "mdy", "ymd"},
      "order of day, month and year in dates of three numbers, such as 03/04/2020. Default: the only order that "
      "fits all dates, and the day first in 03.04.2020");
  flags.positive("--start", c.start,
                 "begin of observation, in the table's unit; it is subtracted from all times. Default: 0, and of dates "
                 "the first event of each sequence, or with --clock the midnight before it");
  flags.positive("--end", c.end, "end of observation of each sequence. Default: its last event");
  flags.positive("--clock", c.clock,
                 "period of a Poisson process whose rates repeat, such as 24 for hours, or 1 (day) for dates, to fit "
                 "too");
  flags.whole("--parts", c.parts, {1, 10'000}, "equal parts of that period, each with a rate");
  flags.text("--out", c.out, "TOML file to write the process with the lowest AIC to, for `npzoo oracle --process`");
}

struct EventCounts {
  std::int64_t events = 0, marks = 1, sequences = 0;
};

/// Prints a process, but not the excitations of very many pairs of kinds.
void print(const FittedProcess& fitted, const EventCounts& counts) {
  fmt::print("{}: log-likelihood {:.6f} per event, AIC {:.3f}\n", fitted.process->name(),
             fitted.log_likelihood / static_cast<double>(counts.events), fitted.criterion);
  const bool many = counts.marks > kMostPreciseMarks;
  std::int64_t left_out = 0;
  for (const FittedParameter& p : fitted.parameters) {
    if (many && p.name.starts_with("excitation")) {
      ++left_out;
      continue;
    }
    const bool unknown = std::isnan(p.standard_error);
    fmt::print("  {:<24} {:>12.6g}{}\n", p.name, p.value,
               !unknown ? fmt::format(" ± {:.3g}", p.standard_error)
               : many   ? ""
                        : " (at the border)");
  }
  if (left_out > 0)
    fmt::print("  {} excitations: see --json; no standard errors for more than {} kinds\n", left_out,
               kMostPreciseMarks);
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

void write(const FitEventsCommand& c, const EventTableForm& form, const FittedProcess& best) {
  if (c.out.empty()) return;
  std::ofstream file(c.out);
  file << best.text << event_form_text(form) << '\n';
  file.flush();
  check(file.good(), "[fit] {} cannot be written", c.out.string());
}

/// How the table is read: its columns, kinds, and where observation begins.
EventTableForm form_of(const FitEventsCommand& c) {
  constexpr std::int64_t kMostKinds = 1000;
  check(c.table != "-", "[fit] TABLE is standard input, expected a file: it is read twice");
  EventTableForm form;
  {
    form.cells.dates = date_order_named(c.dates);
    Table table = Table::read(c.table, {.cells = form.cells});
    // Words of a table need not be kinds of events: only a column called mark is one.
    const std::string usual_mark = table.format().find("mark") ? "mark" : "";
    const EventColumns columns = choose_event_columns(
        table, {.sequence = c.sequence, .time = c.time, .mark = c.mark.value_or(usual_mark)}, "--time");
    form.sequence = columns.sequence, form.time = columns.time, form.mark = columns.mark, form.times = columns.times;
  }
  const EventTableFacts facts(c.table, form, kMostKinds);
  form.marks = facts.marks();
  form.mark_names = facts.mark_names();
  if (form.marks == 1) form.mark = "", form.mark_names.clear();
  form.either_order = true;
  form.least_gap = facts.least_gap();
  form.from_first_event = facts.has_dates();
  form.from_midnight = facts.has_dates() && c.clock;
  check(!facts.has_dates() || (!c.start && !c.end),
        "[fit] --start or --end found, but column {} holds dates, expected numbers: observation begins with the first "
        "event of each sequence and ends with the last",
        in_quotes(form.time));
  form.start = c.start.value_or(0);
  form.end = c.end;
  return form;
}

std::vector<EventSequence> sequences_of(const FitEventsCommand& c, const EventTableForm& form,
                                        const EventTable& table) {
  const auto warn = [&](const std::string& text) {
    if (!text.empty()) fmt::print(stderr, "npzoo: warning: {}: {}\n", c.table.string(), text);
  };
  if (!form.from_first_event) warn(warning_of_late_start(table.sequences, form));
  if (table.reversed > 0)
    warn(fmt::format("the rows of {} come newest first: npzoo reads them in the order of time",
                     counted(table.reversed, "sequence")));
  warn(warning_of_moved_events(table, form));
  std::vector<EventSequence> sequences;
  for (const NamedSequence& s : table.sequences) sequences.push_back(s.events);
  return sequences;
}

int run(const FitEventsCommand& c) {
  apply(c.common);
  check_outputs("fit", c.common, {{"--out", c.out}}, {{"TABLE", c.table}});
  const EventTableForm form = form_of(c);
  const EventTable table = read_event_table(c.table, form);
  const std::vector<EventSequence> sequences = sequences_of(c, form, table);
  EventCounts counts{.marks = form.marks, .sequences = std::ssize(sequences)};
  for (const EventSequence& s : sequences) counts.events += s.events();
  const InterruptGuard interrupt;
  const StopScope scope(interrupt.token());
  try {
    std::vector<FittedProcess> all{fit_poisson(sequences, form.marks, form.mark_names)};
    if (c.clock) all.push_back(fit_clock_poisson(sequences, form.marks, *c.clock, c.parts, form.mark_names));
    all.push_back(fit_hawkes(sequences, form.marks, form.mark_names));
    write(c, form, *std::ranges::min_element(all, {}, &FittedProcess::criterion));
    JsonValue json = JsonValue::array();
    if (!c.common.json)
      fmt::print("{} events of {} in {}{}\n", counts.events, counted(counts.marks, "mark"),
                 counted(counts.sequences, "sequence"), form.from_first_event ? "; times in days" : "");
    for (const FittedProcess& fitted : all) c.common.json ? json.push_back(to_json(fitted)) : print(fitted, counts);
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
