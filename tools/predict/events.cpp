#include <fmt/format.h>

#include "npzoo/datasets/events/event_tasks.h"
#include "npzoo/datasets/tables/prediction_rows.h"
#include "npzoo/datasets/tables/table_reader.h"
#include "npzoo/datasets/tables/table_writer.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"
#include "npzoo/models/applications/events/event_forecast.h"
#include "npzoo/models/training/run_state.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/progress.h"
#include "tools/predict/options.h"

namespace npzoo {

namespace {

/// Where nothing was said.
constexpr double kUsualQuantiles[] = {0.05, 0.5, 0.95};

void check_options(const PredictOptions& c) {
  check(!c.strict && c.targets.empty() && c.truth.empty() && c.plot.empty(),
        "[predict] --context, --targets, --truth or --plot found, expected a TABLE of events alone: what follows them "
        "is predicted");
  check(c.columns.inputs.size() <= 1 && c.columns.values.size() <= 1,
        "[predict] several --inputs or --values found, expected the column of times and that of marks");
  check((c.samples > 0) == c.horizon.has_value(),
        "[predict] {} found, expected --samples and --horizon, or none of them",
        c.samples > 0 ? "--samples" : "--horizon");
}

EventTableForm form_of(const PredictOptions& c, const EventTasks& config) {
  EventTableForm form = config.table_form();
  if (!c.columns.group.empty()) form.sequence = c.columns.group;
  if (!c.columns.inputs.empty()) form.time = c.columns.inputs[0];
  if (!c.columns.values.empty()) form.mark = c.columns.values[0];
  return form;
}

/// Reads the table as training did. A model of a JODIE file also takes a table with the columns sequence, time and
/// mark.
std::vector<NamedSequence> read_events(const PredictOptions& c, const EventTasks& config, EventTableForm& form,
                                       const std::function<bool()>& give_up) {
  const bool named = !c.columns.group.empty() || !c.columns.inputs.empty() || !c.columns.values.empty();
  if (!config.is_jodie()) return read_event_table(c.table, form, give_up);
  const EventTableForm plain;
  const bool is_plain = c.table == "-" || TableReader(c.table).format().find(plain.sequence).has_value();
  if (!named && !is_plain) return read_jodie_table(c.table, form, give_up);
  if (c.columns.group.empty()) form.sequence = plain.sequence;
  if (c.columns.inputs.empty()) form.time = plain.time;
  if (c.columns.values.empty()) form.mark = plain.mark;
  return read_event_table(c.table, form, give_up);
}

/// Every sequence is observed until --now, or until its last event.
void observe_until(const PredictOptions& c, double unit, std::vector<NamedSequence>& sequences) {
  for (NamedSequence& s : sequences) {
    s.events.end = c.now.value_or(0) / unit;
    if (!c.now) s.events.end = s.events.times.back();
    check(s.events.end >= s.events.times.back(),
          "[predict] --now {} found, expected {} or later: sequence {} has an event then", *c.now,
          s.events.times.back() * unit, in_quotes(s.name));
  }
}

/// The tables that are written, in the units of the one that was read.
class EventOutputs {
 public:
  EventOutputs(const PredictOptions& c, const EventTableForm& form, const std::string& model)
      : form_(form), quantiles_(c.quantiles) {
    if (quantiles_.empty()) quantiles_.assign(std::begin(kUsualQuantiles), std::end(kUsualQuantiles));
    std::vector<std::string> header{form.sequence, "last_" + form.time, "mean_" + form.time};
    for (const double p : quantiles_) header.push_back(fmt::format("q{}_{}", p, form.time));
    for (std::int64_t k = 0; form.marks > 1 && k < form.marks; ++k)
      header.push_back(fmt::format("p_{}_{}", form.mark, k));
    std::vector<std::string> comments{"model: " + model, "the next event of each sequence, given all before it"};
    if (c.now) comments.push_back(fmt::format("given that nothing more has happened until {}", *c.now));
    if (!c.out.empty()) next_.emplace(c.out, header, comments);
    if (c.samples == 0) return;
    std::vector<std::string> names{form.sequence, "sample", form.time};
    if (form.marks > 1) names.push_back(form.mark);
    const std::vector<std::string> how{
        "model: " + model,
        fmt::format("free-running: {} paths of each sequence over a horizon of {}", c.samples, *c.horizon)};
    paths_.emplace(c.samples_out, names, how);
  }

  const std::vector<double>& quantiles() const { return quantiles_; }

  void write(const NamedSequence& sequence, const NextEventForecast& next) {
    if (!next_) return;
    const double last = sequence.events.times.back();
    std::vector<double> row{last * form_.unit, few_digits((last + next.expected_gap) * form_.unit, last * form_.unit)};
    for (const double gap : next.gap_quantiles) row.push_back(few_digits((last + gap) * form_.unit, last * form_.unit));
    if (form_.marks > 1)
      for (const double p : next.mark_probability) row.push_back(few_digits(p));
    next_->write(as_cell(sequence.name, ','), row);
  }
  void write(const NamedSequence& sequence, const std::vector<EventSequence>& paths) {
    for (std::size_t s = 0; s < paths.size(); ++s)
      for (std::size_t i = 0; i < paths[s].times.size(); ++i) {
        std::vector<double> row{static_cast<double>(s + 1),
                                few_digits(paths[s].times[i] * form_.unit, sequence.events.times.back() * form_.unit)};
        if (form_.marks > 1) row.push_back(static_cast<double>(paths[s].marks[i]));
        paths_->write(as_cell(sequence.name, ','), row);
      }
  }
  void commit() {
    if (next_) next_->commit();
    if (paths_) paths_->commit();
  }

 private:
  const EventTableForm& form_;
  std::vector<double> quantiles_;
  std::optional<TableWriter> next_, paths_;
};

}  // namespace

int predict_events(const PredictOptions& c, const TrainedModel& trained) {
  check_options(c);
  const TrainingRun& run = trained.checkpoint.run;
  const EventTasks& config = *run.protocol.data->as_events();
  const InterruptGuard interrupt;
  const auto give_up = [&interrupt] { return interrupt.requested(); };
  EventTableForm form = form_of(c, config);
  std::vector<NamedSequence> sequences = read_events(c, config, form, give_up);
  observe_until(c, form.unit, sequences);
  EventOutputs outputs(c, form, fmt::format("{} trained under {}", run.spec.name, run.protocol.name));
  Progress progress("predict", std::ssize(sequences), {.unit = "sequences", .passing = true});
  std::int64_t events = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (give_up()) return kInterruptedExit;
    const EventSequence& past = sequences[i].events;
    events += past.events();
    outputs.write(sequences[i], forecast_next(*trained.model, past, outputs.quantiles()));
    if (c.samples > 0)
      outputs.write(sequences[i],
                    continue_events(*trained.model, past, *c.horizon / form.unit, c.samples, run.seed + i));
    progress.update(static_cast<std::int64_t>(i) + 1);
  }
  progress.finish();
  if (const std::string warning = warning_of_late_start(sequences, form); !warning.empty())
    fmt::print(stderr, "npzoo: warning: {}: {}\n", c.table.string(), warning);
  outputs.commit();
  if (c.common.json)
    print_json(JsonValue::object({{"model", run.spec.name},
                                  {"protocol", run.protocol.name},
                                  {"sequences", std::ssize(sequences)},
                                  {"events", events},
                                  {"samples", c.samples},
                                  {"how", "the next event given all before it; samples are free-running"}}));
  return 0;
}

}  // namespace npzoo
