#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/datasets/events/event_tasks.h"
#include "npzoo/datasets/kinds/events/source.h"
#include "npzoo/datasets/permutation.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

/// Drawn anew for each task.
class SimulatedEventsConfig final : public EventTasks {
 public:
  SimulatedEventsConfig(std::shared_ptr<const PointProcess> process, const SimulatedExtent& extent,
                        const EventTaskRules& rules)
      : EventTasks(rules), process_(std::move(process)), extent_(extent) {}

  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    return std::make_unique<SimulatedEvents>(process_, extent_, rules(), options);
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
  std::int64_t marks() const override { return process_->marks(); }
  std::shared_ptr<const PointProcess> process() const override { return process_; }
  std::shared_ptr<const Poisson> poisson() const override {
    constexpr std::int64_t kFitted = 2000;
    return Poisson::fitted(drawn(kFitted, 0, Split::training), marks());
  }
  std::vector<EventSequence> shown(std::int64_t sequences, std::uint64_t seed) const override {
    return drawn(sequences, seed, Split::evaluation);
  }

 private:
  std::vector<EventSequence> drawn(std::int64_t sequences, std::uint64_t seed, Split split) const {
    Random random(seed, static_cast<std::uint64_t>(split) << 56);
    std::vector<EventSequence> all;
    for (std::int64_t i = 0; i < sequences; ++i) all.push_back(process_->draw(extent_, random));
    return all;
  }

  std::shared_ptr<const PointProcess> process_;
  SimulatedExtent extent_;
};

/// A file and how it is read.
struct EventFile {
  std::string path;
  bool is_jodie = false;
  EventTableForm form;
  double validation = 0, test = 0;  // shares of the sequences
};

/// Parts of a file, divided by sequence: which one is in which depends on their number and order alone.
struct EventParts {
  std::vector<std::shared_ptr<const EventSequence>> training, validation, test;
};

EventParts read_parts(const EventFile& file, const EventTaskRules& rules) {
  const std::filesystem::path path = std::filesystem::path(file.path).is_absolute()
                                         ? std::filesystem::path(file.path)
                                         : data_file("events", {file.path}, "the source of the protocol describes it");
  std::vector<std::shared_ptr<const EventSequence>> all;
  for (NamedSequence& one : file.is_jodie ? read_jodie_table(path, file.form) : read_event_table(path, file.form)) {
    const EventSequence& s = one.events;
    const bool has_target = s.events() > rules.context || s.end > s.times.back();
    if (has_target) all.push_back(std::make_shared<const EventSequence>(std::move(one.events)));
  }
  const auto count = std::ssize(all);
  const auto share = [count](double x) { return static_cast<std::int64_t>(x * static_cast<double>(count) + 0.5); };
  const std::int64_t test = share(file.test), validation = share(file.validation);
  check(test > 0 && validation > 0 && test + validation < count,
        "[events] {} has {} sequences with an event to predict, expected one or more for each of training, validation "
        "and test",
        path.string(), count);
  const Permutation order(count, 0, 0);
  EventParts parts;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = order(i);
    auto& part = place < test ? parts.test : place < test + validation ? parts.validation : parts.training;
    part.push_back(all[static_cast<std::size_t>(i)]);
  }
  return parts;
}

/// The file is read once, for the first task.
class RecordedEventsConfig final : public EventTasks {
 public:
  RecordedEventsConfig(EventFile file, const EventTaskRules& rules)
      : EventTasks(rules), read_(std::make_shared<Read>(std::move(file))) {}

  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    const EventParts& parts = read_->parts(rules());
    const auto& part = options.split == Split::training     ? parts.training
                       : options.split == Split::validation ? parts.validation
                                                            : parts.test;
    return std::make_unique<RecordedEvents>(part, rules(), options);
  }
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& /*test*/) const override {
    return std::make_shared<RecordedEventsConfig>(*this);
  }
  TaskExtents typical_extents() const override {
    return {rules().context, std::max<std::int64_t>(rules().points / 2, 1)};
  }
  std::int64_t marks() const override { return read_->file.form.marks; }
  double unit() const override { return read_->file.form.unit; }
  EventTableForm table_form() const override {
    EventTableForm form = read_->file.form;
    form.end.reset();
    return form;
  }
  bool is_jodie() const override { return read_->file.is_jodie; }
  std::shared_ptr<const Poisson> poisson() const override {
    std::vector<EventSequence> all;
    for (const auto& sequence : read_->parts(rules()).training) all.push_back(*sequence);
    return Poisson::fitted(all, marks());
  }
  std::vector<EventSequence> shown(std::int64_t sequences, std::uint64_t seed) const override {
    const auto& test = read_->parts(rules()).test;
    const Permutation order(std::ssize(test), seed, 0);
    std::vector<EventSequence> all;
    for (std::int64_t i = 0; i < std::min(sequences, std::ssize(test)); ++i)
      all.push_back(*test[static_cast<std::size_t>(order(i))]);
    return all;
  }

 private:
  struct Read {
    explicit Read(EventFile f) : file(std::move(f)) {}

    const EventParts& parts(const EventTaskRules& rules) {
      const std::lock_guard lock(mutex);
      if (!read) read = read_parts(file, rules);
      return *read;
    }

    const EventFile file;
    std::mutex mutex;
    std::optional<EventParts> read;
  };

  std::shared_ptr<Read> read_;
};

std::shared_ptr<const TaskConfig> read_simulated(TomlReader& data, EventTaskRules rules) {
  TomlReader table = data.table("process", "process that sequences are sampled from");
  auto process = read_process(table);
  table.finish();
  SimulatedExtent extent;
  data.expect(data.has("end") != data.has("events"), "end",
              data.has("end") ? "there beside events" : "missing, and events too", "one of them");
  if (data.has("end")) {
    extent.end = data.number("end", "length of a sequence, in units of time", kPositive);
  } else {
    extent.events = data.integer("events", "events of a sequence", rules.context + 1, PointProcess::kMostEvents);
    rules.ragged = false;
  }
  return std::make_shared<SimulatedEventsConfig>(std::move(process), extent, rules);
}

std::optional<double> read_end(TomlReader& data) {
  data.any_form("end", "time at which the observation of every sequence ends", "number > 0, or \"last event\"");
  if (data.has("end") && data.is_text("end")) {
    data.choice("end", kPartOfForm, {"last event"});
    return {};
  }
  return data.number("end", kPartOfForm, kPositive);
}

std::shared_ptr<const TaskConfig> read_recorded(TomlReader& data, EventTaskRules rules) {
  EventFile file;
  file.path = data.text("file", "table of events; a relative path starts in the folder of data");
  file.is_jodie = data.choice("form", "columns of the table: named below, or those of the JODIE datasets",
                              {"table", "jodie"}) == "jodie";
  constexpr std::int64_t kMostMarks = 65'536;  // classes that models of events can have
  EventTableForm& form = file.form;
  form.marks = data.integer("marks", "classes of events", 1, kMostMarks);
  if (!file.is_jodie) {
    form.sequence = data.text("sequence", "column of the sequence");
    form.time = data.text("time", "column of the time");
    form.mark = form.marks > 1 ? data.text("mark", "column of the class") : "";
  } else {
    form.sequence = "user", form.time = "timestamp", form.mark = "item";
  }
  form.unit = data.number("unit", "number that the times of the table are divided by", kPositive);
  form.end = read_end(data);
  form.least_gap =
      data.number("least_gap",
                  "nearer events of a sequence are moved this far apart, in units of time; 0: equal times are an error",
                  kNonNegative);
  rules.points = data.integer("points", "most events of a task", rules.context + 1, PointProcess::kMostEvents);
  constexpr NumberRule kProperShare{[](double x) { return x > 0 && x < 1; }, "a number > 0 and < 1"};
  std::tie(file.validation, file.test) =
      data.two_numbers("held_out", "shares of the sequences for validation and test", kProperShare);
  data.expect(file.validation + file.test < 1, "held_out", "all of the sequences",
              "shares for validation and test that leave some for training");
  return std::make_shared<RecordedEventsConfig>(std::move(file), rules);
}

}  // namespace

std::shared_ptr<const TaskConfig> read_events_config(TomlReader& data) {
  constexpr std::int64_t kMostContext = 4096;
  EventTaskRules rules;
  rules.context = data.integer("context", "events that are given at first", 0, kMostContext);
  return data.has("process") ? read_simulated(data, rules) : read_recorded(data, rules);
}

}  // namespace npzoo
