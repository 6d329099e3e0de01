#include "npzoo/models/applications/events/any_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "npzoo/datasets/events/event_columns.h"
#include "npzoo/datasets/events/event_tasks.h"
#include "npzoo/datasets/events/table_facts.h"
#include "npzoo/datasets/tables/table.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/words.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/concat/concat.h"

namespace npzoo {

bool predict_any_events(const TrainedModel& trained) {
  const EventTasks* tasks = trained.checkpoint.run.protocol.data->as_events();
  return tasks != nullptr && tasks->process() == nullptr && !tasks->truth().empty();
}

EventTableForm form_of_any_events(const TrainedModel& trained, const std::filesystem::path& path,
                                  const ColumnChoice& wishes, const CellRules& cells) {
  check(path != "-", "[events] TABLE is standard input, expected a file: it is read twice");
  NamedEventColumns named;
  if (!wishes.group.empty()) named.sequence = wishes.group;
  if (!wishes.inputs.empty()) named.time = wishes.inputs[0];
  if (!wishes.values.empty()) named.mark = wishes.values[0];
  Table table = Table::read(path, {.cells = cells});
  EventTableForm form{.from_first_event = true, .cells = cells, .either_order = true};
  const EventColumns columns = choose_event_columns(table, named, "--inputs");
  form.sequence = columns.sequence, form.time = columns.time, form.mark = columns.mark, form.times = columns.times;
  const EventTableFacts facts(path, form);
  const std::int64_t most = trained.checkpoint.run.protocol.data->as_events()->marks();
  check(facts.marks() <= most,
        "[events] column \"{}\" of {} has {} kinds of events, expected at most {} without a training: npzoo train "
        "--events {} --time {} --mark {} --out own; if these are values to predict: npzoo predict {} --values {}",
        form.mark, path.string(), facts.marks(), most, path.string(), form.time, form.mark, path.string(), form.mark);
  form.marks = facts.marks();
  form.mark_names = facts.mark_names();
  form.unit = facts.mean_gap();
  check(form.unit > 0 && std::isfinite(form.unit),
        "[events] {}: no time passes between events of a sequence, expected two or more at different times",
        path.string());
  form.least_gap = facts.least_gap() / form.unit;
  return form;
}

void fit_form_of_any_events(std::span<const double> times, std::span<const std::int64_t> marks,
                            std::span<const std::uint32_t> sequences, EventTableForm& form) {
  struct Span {
    double first, last;
  };
  std::map<std::uint32_t, Span> spans;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto [span, added] = spans.try_emplace(sequences.empty() ? 0 : sequences[i], Span{times[i], times[i]});
    span->second.last = times[i];
  }
  double length = 0;
  for (const auto& [sequence, span] : spans) length += span.last - span.first;
  const double gaps = static_cast<double>(times.size() - spans.size());
  check(gaps > 0 && length > 0 && std::isfinite(length),
        "[events] no time passes between events of a sequence, expected two or more at different times");
  const std::int64_t last = marks.empty() ? 0 : std::ranges::max(marks);
  check(last < form.marks, "[events] the mark {} found, expected one of 0 to {} without a training", last,
        form.marks - 1);
  form.unit = length / gaps;
  form.marks = last + 1;
  form.from_first_event = true;
}

EventData latest_events(EventData data) {
  constexpr std::int64_t kMost = 160;  // of the 192 of a training, so that paths go on within what it has seen
  std::int64_t shortened = 0;
  for (NamedSequence& sequence : data.sequences) {
    EventSequence& s = sequence.events;
    const std::int64_t kept = std::min(s.events() - 1, kMost), left = s.events() - kept;
    // The gap before the first event counts: a sequence of one event begins a mean gap before it.
    const double start = kept > 0 ? s.times[static_cast<std::size_t>(left - 1)] : s.times[0] - 1;
    if (kept > 0) {
      s.times.erase(s.times.begin(), s.times.begin() + left);
      s.marks.erase(s.marks.begin(), s.marks.begin() + left);
    }
    for (double& time : s.times) time -= start;
    s.end -= start;
    sequence.start += start;
    sequence.left_out = kept > 0 ? left : 0;
    shortened += left > 1;
  }
  if (shortened > 0)
    data.facts.push_back(fmt::format("of {} the latest {} events count", counted(shortened, "sequence"), kMost));
  return data;
}

std::unique_ptr<Model> with_marks(const TrainedModel& trained, std::int64_t marks) {
  ModelSpec spec = trained.checkpoint.run.spec;
  spec.config["num_classes"] = marks;
  auto model = make_model(spec, {.drawn = false});
  Weights weights = weights_that_count(trained.checkpoint);
  const std::vector<NamedParameter> tensors = named_tensors(*model);
  // Rows of marks come first: those of `embedding` after the row of no event.
  for (const auto& [name, parameter] : tensors)
    if (const auto found = weights.find(name); found != weights.end() && parameter->value.rank() > 0)
      found->second = slice(found->second, 0, 0, parameter->value.dim(0));
  assign(tensors, weights);
  return model;
}

}  // namespace npzoo
