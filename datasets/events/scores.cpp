#include "npzoo/datasets/events/scores.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/text.h"
#include "npzoo/engine/io/toml.h"

namespace npzoo {

namespace {

/// The form of a table that a file of a process describes.
EventTableForm read_event_form(TomlReader& reader, std::int64_t marks) {
  EventTableForm form{.marks = marks};
  if (reader.has("sequence")) form.sequence = reader.text("sequence", "column of sequences; empty: all rows are one");
  if (reader.has("time")) form.time = reader.text("time", "column of times");
  if (reader.has("mark")) form.mark = reader.text("mark", "column of kinds of events; empty: there is one");
  if (reader.has("mark_names")) {
    form.mark_names = reader.texts("mark_names", "how the table writes each kind of event");
    reader.expect(std::ssize(form.mark_names) == marks, "mark_names",
                  fmt::format("with {} names", form.mark_names.size()),
                  fmt::format("as many as the process has marks, {}", marks));
  }
  if (reader.has("begins")) {
    form.from_first_event = true;
    form.from_midnight =
        reader.choice("begins", "start of the observation of each sequence", {"first event", "midnight"}) == "midnight";
  }
  if (reader.has("either_order")) form.either_order = reader.boolean("either_order", "rows may come newest first");
  if (reader.has("start"))
    form.start = reader.number("start", "time at which the observation of every sequence begins", kFinite);
  if (reader.has("end")) form.end = reader.number("end", "time at which it ends", kFinite);
  if (form.end && *form.end <= form.start)
    reader.reject("end", fmt::format("{}", *form.end), fmt::format("more than the start, {}", form.start));
  if (reader.has("least_gap"))
    form.least_gap = reader.number("least_gap", "least time between two events of a sequence", kNonNegative);
  return form;
}

}  // namespace

Estimate ratio_of_sums(std::span<const double> sums, std::span<const double> counts) {
  const double count = std::accumulate(counts.begin(), counts.end(), 0.0);
  check(count > 0, "[events] no event found, expected at least one");
  const double ratio = std::accumulate(sums.begin(), sums.end(), 0.0) / count;
  const auto n = static_cast<double>(sums.size());
  if (n < 2) return {ratio, std::numeric_limits<double>::quiet_NaN()};
  double squares = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) squares += std::pow(sums[i] - ratio * counts[i], 2);
  return {ratio, std::sqrt(squares * n / (n - 1)) / count};
}

Estimate true_log_likelihood(const EventTasks& config, std::int64_t tasks, std::uint64_t seed) {
  constexpr std::int64_t kTogether = 50;
  check(!config.truth().empty(), "[oracle] the events are recorded, expected simulated ones, whose process is known");
  const auto source =
      config.source({.batch_size = kTogether, .seed = seed, .split = Split::evaluation, .dtype = DType::float64});
  std::vector<double> sums, counts;
  for (std::uint64_t index = 0; std::ssize(sums) < tasks; ++index) {
    const Batch batch = source->batch(index);
    const auto known = batch.truth->log_likelihood(batch.task, Density::joint);
    sums.insert(sums.end(), known->begin(), known->end());
    for (const TaskEvents& task : events_of(batch.task))
      counts.push_back(static_cast<double>(task.sequence.events() - task.first_target));
  }
  return ratio_of_sums(sums, counts);
}

std::string event_form_text(const EventTableForm& form) {
  const EventTableForm usual;
  toml::table keys;
  if (form.sequence != usual.sequence) keys.insert("sequence", form.sequence);
  if (form.time != usual.time) keys.insert("time", form.time);
  if (form.mark != usual.mark) keys.insert("mark", form.mark);
  if (!form.mark_names.empty()) keys.insert("mark_names", toml_array(form.mark_names));
  if (form.start != 0) keys.insert("start", form.start);
  if (form.from_first_event) keys.insert("begins", form.from_midnight ? "midnight" : "first event");
  if (form.end) keys.insert("end", *form.end);
  if (form.least_gap > 0) keys.insert("least_gap", form.least_gap);
  if (form.either_order) keys.insert("either_order", true);
  return toml_text(keys);
}

ProcessScores score_events(const std::filesystem::path& table, const std::filesystem::path& process_file) {
  TomlReader reader(read_text(process_file), "[oracle] " + process_file.string());
  const auto process = read_process(reader);
  const EventTableForm form = read_event_form(reader, process->marks());
  reader.finish();

  ProcessScores scores;
  scores.process = process->name();
  std::vector<double> sums, counts;
  const std::vector<NamedSequence> sequences = read_event_table(table, form).sequences;
  scores.warning = warning_of_late_start(sequences, form);
  for (const NamedSequence& sequence : sequences) {
    sums.push_back(process->log_likelihood(sequence.events, 0));
    check(std::isfinite(sums.back()),
          "[oracle] {}: sequence {} has log-likelihood {} under {}, expected a finite number", table.string(),
          in_quotes(sequence.name), sums.back(), process_file.string());
    counts.push_back(static_cast<double>(sequence.events.events()));
    scores.events += sequence.events.events();
    scores.total += sums.back();
  }
  scores.sequences = std::ssize(sums);
  scores.log_likelihood = ratio_of_sums(sums, counts);
  return scores;
}

}  // namespace npzoo
