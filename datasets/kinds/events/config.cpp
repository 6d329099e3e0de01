#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "npzoo/datasets/events/event_tasks.h"
#include "npzoo/datasets/kinds/events/event_file.h"
#include "npzoo/datasets/kinds/events/own_events.h"
#include "npzoo/datasets/kinds/events/source.h"
#include "npzoo/datasets/permutation.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

/// Drawn anew for each task.
class SimulatedEventsConfig final : public EventTasks {
 public:
  SimulatedEventsConfig(SimulatedProcesses processes, const SimulatedExtent& extent, const EventTaskRules& rules)
      : EventTasks(rules), processes_(std::move(processes)), extent_(extent) {}

  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    return std::make_unique<SimulatedEvents>(processes_, extent_, rules(), options);
  }
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& /*test*/) const override {
    return std::make_shared<SimulatedEventsConfig>(*this);
  }
  TaskExtents typical_extents() const override {
    constexpr std::int64_t kDrawn = 20;
    std::int64_t events = 0;
    for (const EventSequence& sequence : shown(kDrawn, 0)) events += sequence.events();
    return {rules().context, std::max<std::int64_t>(events / kDrawn - rules().context, 1)};
  }
  std::int64_t marks() const override { return processes_.marks; }
  std::shared_ptr<const PointProcess> process() const override { return processes_.one; }
  std::string truth() const override { return processes_.truth(); }
  std::vector<EventSequence> training_sequences() const override {
    constexpr std::int64_t kDrawn = 2000;
    return drawn(kDrawn, 0, Split::training);
  }
  std::vector<EventSequence> shown(std::int64_t sequences, std::uint64_t seed) const override {
    return drawn(sequences, seed, Split::evaluation);
  }

 private:
  std::vector<EventSequence> drawn(std::int64_t sequences, std::uint64_t seed, Split split) const {
    Random random(seed, static_cast<std::uint64_t>(split) << 56);
    std::vector<EventSequence> all;
    for (std::int64_t i = 0; i < sequences; ++i) all.push_back(processes_.next(random)->draw(extent_, random));
    return all;
  }

  SimulatedProcesses processes_;
  SimulatedExtent extent_;
};

/// The file is read once, for the first task.
class RecordedEventsConfig final : public EventTasks {
 public:
  RecordedEventsConfig(EventFile file, const EventTaskRules& rules)
      : EventTasks(rules), read_(std::make_shared<Read>(std::move(file))) {}

  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    return std::make_unique<RecordedEvents>(parts().of(options.split), rules(), options);
  }
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& /*test*/) const override {
    return std::make_shared<RecordedEventsConfig>(*this);
  }
  OwnTasks on_own_data(const OwnData& own) const override {
    if (file().kind != EventFile::Kind::own) return EventTasks::on_own_data(own);
    return on_own_events(own_data_as<OwnEvents>(own, "a table of events"), file(), rules());
  }
  TaskExtents typical_extents() const override {
    return {rules().context, std::max<std::int64_t>(rules().points / 2, 1)};
  }
  std::int64_t marks() const override { return file().form.marks; }
  double unit() const override { return file().form.unit; }
  EventTableForm table_form() const override {
    EventTableForm form = file().form;
    form.end.reset();
    return form;
  }
  bool is_jodie() const override { return file().kind == EventFile::Kind::jodie; }
  std::vector<EventSequence> training_sequences() const override {
    std::vector<EventSequence> all;
    for (const RecordedPiece& piece : parts().training) all.push_back(events_of(piece));
    return all;
  }
  std::vector<EventSequence> shown(std::int64_t sequences, std::uint64_t seed) const override {
    const std::vector<RecordedPiece>& test = parts().test;
    const Permutation order(std::ssize(test), seed, 0);
    std::vector<EventSequence> all;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(sequences, std::ssize(test)); ++i)
      all.push_back(events_of(test[static_cast<std::size_t>(order(i))]));
    return all;
  }

 private:
  struct Read {
    explicit Read(EventFile f) : file(std::move(f)) {}

    const EventFile file;
    std::mutex mutex;
    std::optional<EventParts> parts{};
  };

  const EventFile& file() const { return read_->file; }
  const EventParts& parts() const {
    const std::lock_guard lock(read_->mutex);
    if (!read_->parts) read_->parts = read_parts(file(), rules());
    return *read_->parts;
  }

  std::shared_ptr<Read> read_;
};

SimulatedProcesses read_processes(TomlReader& data) {
  if (!data.has("process")) {
    static_cast<void>(data.choice("processes", "instead of `process`: each sequence has one of its own", {"any"}));
    return {.marks = data.integer("marks", "most classes of events of a process", 1, kMostMarks)};
  }
  TomlReader table = data.table("process", "process that sequences are sampled from");
  const auto process = read_process(table);
  table.finish();
  return {.one = process, .marks = process->marks()};
}

std::shared_ptr<const TaskConfig> read_simulated(TomlReader& data, EventTaskRules rules) {
  SimulatedProcesses processes = read_processes(data);
  SimulatedExtent extent;
  data.expect(data.has("end") != data.has("events"), "end",
              data.has("end") ? "there beside events" : "missing, and events too", "one of them");
  if (data.has("end")) {
    extent.end = data.number("end", "length of a sequence, in units of time", kPositive);
  } else {
    extent.events = data.integer("events", "events of a sequence", rules.context + 1, PointProcess::kMostEvents);
    rules.ragged = false;
  }
  return std::make_shared<SimulatedEventsConfig>(std::move(processes), extent, rules);
}

std::optional<double> read_end(TomlReader& data) {
  data.any_form("end", "time at which the observation of every sequence ends", "number > 0, or \"last event\"");
  if (data.has("end") && data.is_text("end")) {
    data.choice("end", kPartOfForm, {"last event"});
    return {};
  }
  return data.number("end", kPartOfForm, kPositive);
}

/// Reads the keys of a user's own table.
void read_own(TomlReader& data, EventFile& file) {
  file.checksum = data.text("checksum", "checksum of the bytes of an own table: a changed table is an error");
  file.form.from_first_event = true;
  file.form.either_order = true;
  if (data.has("mark_names")) {
    file.form.mark_names = data.texts("mark_names", "how the table writes each class of events");
    data.expect(std::ssize(file.form.mark_names) == file.form.marks, "mark_names",
                fmt::format("with {} names", file.form.mark_names.size()),
                fmt::format("as many as `marks`, {}", file.form.marks));
  }
  file.by_time = data.choice("held_out_by",
                             "parts for validation and test: whole sequences, or the latest events of each sequence",
                             {"sequence", "time"}) == "time";
}

std::shared_ptr<const TaskConfig> read_recorded(TomlReader& data, EventTaskRules rules) {
  constexpr std::array<std::string_view, 3> kForms{"table", "jodie", "own"};  // in the order of EventFile::Kind
  EventFile file;
  file.path = data.text("file", "table of events; a relative path starts in the folder of data");
  const std::string form_name = data.choice(
      "form", "columns of the table: named below, those of the JODIE datasets, or those of a user's own table",
      {kForms.begin(), kForms.end()});
  file.kind = static_cast<EventFile::Kind>(std::ranges::find(kForms, form_name) - kForms.begin());
  EventTableForm& form = file.form;
  form.marks = data.integer("marks", "classes of events", 1, kMostMarks);
  if (file.kind != EventFile::Kind::jodie) {
    form.sequence = data.text("sequence", "column of the sequence; of an own table empty if all rows are one sequence");
    form.time = data.text("time", "column of the time");
    form.mark = form.marks > 1 ? data.text("mark", "column of the class") : "";
  } else {
    form.sequence = "user", form.time = "timestamp", form.mark = "item";
  }
  if (file.kind == EventFile::Kind::own) read_own(data, file);
  form.unit = data.number("unit", "number that the times of the table are divided by", kPositive);
  form.end = read_end(data);
  form.least_gap =
      data.number("least_gap",
                  "nearer events of a sequence are moved this far apart, in units of time; 0: equal times are an error",
                  kNonNegative);
  rules.points = data.integer("points", "most events of a task", rules.context + 1, PointProcess::kMostEvents);
  constexpr NumberRule kProperShare{[](double x) { return x > 0 && x < 1; }, "a number > 0 and < 1"};
  std::tie(file.validation, file.test) = data.two_numbers(
      "held_out", "shares of the sequences, or of the events of each, for validation and test", kProperShare);
  data.expect(file.validation + file.test < 1, "held_out", "all of the sequences",
              "shares for validation and test that leave some for training");
  return std::make_shared<RecordedEventsConfig>(std::move(file), rules);
}

}  // namespace

std::shared_ptr<const TaskConfig> read_events_config(TomlReader& data) {
  constexpr std::int64_t kMostContext = 4096;
  EventTaskRules rules;
  rules.context = data.integer("context", "events that are given at first", 0, kMostContext);
  return data.has("process") || data.has("processes") ? read_simulated(data, rules) : read_recorded(data, rules);
}

}  // namespace npzoo
