#include "npzoo/models/applications/events/following_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "npzoo/datasets/events/event_tasks.h"
#include "npzoo/datasets/tables/date_notations.h"
#include "npzoo/datasets/tables/table_reader.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/parse_number.h"
#include "npzoo/engine/io/text.h"
#include "npzoo/engine/words.h"
#include "npzoo/models/applications/application_call.h"
#include "npzoo/models/applications/events/any_events.h"

namespace npzoo {

namespace {

const EventTasks& event_tasks_of(const TrainedModel& trained) {
  const TrainingRun& run = trained.checkpoint.run;
  const EventTasks* config = run.protocol.data->as_events();
  check(config != nullptr, "[events] {} trained under {} found, expected weights that were trained on events",
        run.spec.name, run.protocol.name);
  return *config;
}

EventTableForm form_of(const ColumnChoice& wishes, const EventTasks& config) {
  EventTableForm form = config.table_form();
  if (!wishes.group.empty()) form.sequence = wishes.group;
  if (!wishes.inputs.empty()) form.time = wishes.inputs[0];
  if (!wishes.values.empty()) form.mark = wishes.values[0];
  return form;
}

EventData with_warnings(EventTableForm form, EventTable table) {
  EventData data{.form = std::move(form), .sequences = std::move(table.sequences), .times = table.times};
  if (table.reversed > 0)
    data.warnings.push_back({"order", fmt::format("the rows of {} come newest first: npzoo reads them in the order of "
                                                  "time",
                                                  counted(table.reversed, "sequence"))});
  if (const std::string moved = warning_of_moved_events(table, data.form); !moved.empty())
    data.warnings.push_back({"equal times", moved});
  if (const std::string late = warning_of_late_start(data.sequences, data.form); !late.empty())
    data.warnings.push_back({"late start", late});
  return data;
}

/// The events of some sequences, one after the other. Events of a model that moves near ones apart may have one time.
class EventAppender {
 public:
  EventAppender(const EventTableForm& form, std::size_t sequences) : form_(form), all_(sequences), last_(sequences) {
    for (std::size_t s = 0; s < sequences; ++s) all_[s].name = fmt::format("{}", s);
  }

  /// Appends event number `i` to a sequence.
  void append(std::size_t i, double time, std::int64_t mark, std::size_t sequence) {
    EventSequence& events = all_[sequence].events;
    const bool first = events.times.empty();
    if (first && form_.from_first_event) all_[sequence].start = time / form_.unit;
    const double start = all_[sequence].start, latest = (start + kLatestEvent) * form_.unit;
    check(std::isfinite(time) && (time >= 0 || form_.from_first_event) && time <= latest,
          "[events] the time of event {} is {}, expected a number from 0 to {:g}", i, time, latest);
    check(mark >= 0 && mark < form_.marks, "[events] the mark of event {} is {}, expected one of 0 to {}", i, mark,
          form_.marks - 1);
    check(events.events() < PointProcess::kMostEvents,
          "[events] sequence {} has one more event, expected at most {} events", sequence, PointProcess::kMostEvents);
    const double passed = time / form_.unit - start;
    const double moved = first ? passed : std::max(passed, events.end + form_.least_gap);
    check(first || (time >= last_[sequence] && moved > events.end),
          "[events] the time of event {} is {}, expected more than {}, the time of the previous event of the sequence",
          i, time, last_[sequence]);
    events.times.push_back(moved);
    events.marks.push_back(mark);
    events.end = moved;
    last_[sequence] = time;
  }

  std::vector<NamedSequence> finish() {
    for (const NamedSequence& s : all_)
      check(!s.events.times.empty(), "[events] sequence {} has no event, expected one or more", s.name);
    return std::move(all_);
  }

 private:
  const EventTableForm& form_;
  std::vector<NamedSequence> all_;
  std::vector<double> last_;  // time of each, as it was given
};

/// The sequence as it is observed until `now`.
EventSequence until_now(const NamedSequence& s, const std::optional<double>& now, const EventData& data) {
  EventSequence past = s.events;
  const double last = past.times.back(), unit = data.form.unit;
  past.end = now ? *now / unit - s.start : last;
  check(past.end >= last, "[predict] --now {} found, expected {} or later: sequence {} has an event then",
        data.times.text(now.value_or(0)), data.times.text((s.start + last) * unit), in_quotes(s.name));
  return past;
}

void check_options(const EventOptions& options) {
  for (const double p : options.quantiles)
    check(p > 0 && p < 1, "[events] the quantile {} found, expected a number above 0 and below 1", p);
  check(options.samples >= 0 && (options.samples == 0 || options.horizon > 0),
        "[events] {} samples and a horizon of {} found, expected a horizon above 0 for samples", options.samples,
        options.horizon);
}

/// The model for the kinds of events of a table.
class OwnModel {
 public:
  OwnModel(const TrainedModel& trained, const EventData& data)
      : trained_(*trained.model), own_(predict_any_events(trained) ? with_marks(trained, data.form.marks) : nullptr) {}

  const Model& model() const { return own_ ? *own_ : trained_; }

 private:
  const Model& trained_;
  std::unique_ptr<Model> own_;
};

/// How many events each of some paths has.
FollowingEvents::Count count_of(const std::vector<EventSequence>& paths, const std::vector<double>& probabilities) {
  std::vector<double> counts;
  for (const EventSequence& path : paths) counts.push_back(static_cast<double>(path.events()));
  std::ranges::sort(counts);
  FollowingEvents::Count count{.mean = std::accumulate(counts.begin(), counts.end(), 0.0) /
                                       static_cast<double>(counts.size())};
  for (const double p : probabilities) {
    const double place = std::ceil(p * static_cast<double>(counts.size())) - 1;  // of the least with P(N ≤ n) ≥ p
    count.quantiles.push_back(counts[static_cast<std::size_t>(std::max(place, 0.0))]);
  }
  return count;
}

/// Draws the paths of sequence number `number`.
void add_paths(const Model& model, const EventSequence& past, double start, std::size_t number, const EventData& data,
               const EventOptions& options, std::uint64_t seed, FollowingEvents& following) {
  constexpr std::int64_t kCounted = 200;
  const double unit = data.form.unit;
  std::vector<EventSequence> paths = continue_events(model, past, options.horizon / unit,
                                                     options.samples > 0 ? options.samples : kCounted, seed + number);
  following.count = count_of(paths, options.quantiles);
  if (options.samples == 0) return;
  for (EventSequence& path : paths) {
    for (double& time : path.times) time = (start + time) * unit;
    following.paths.push_back({std::move(path.times), std::move(path.marks)});
  }
}

}  // namespace

std::int64_t EventData::events() const {
  std::int64_t all = 0;
  for (const NamedSequence& s : sequences) all += s.events.events();
  return all;
}

double EventData::time_of(std::string_view text) const {
  const bool dates = times.kind == ColumnForm::Kind::time;
  if (dates) {
    auto found = parse_date_time(text);
    if (!found) found = parse_date_notation(text, times.order, false);
    if (found && found->zoned == times.zoned) return days_since(times.epoch, *found);
  }
  double value = 0;
  const auto [end, error] = parse_number(text, value);
  check(!dates && error == std::errc() && end == text.data() + text.size() && std::isfinite(value),
        "[events] the time {} found, expected {} as in the table", in_quotes(text),
        !dates        ? "a number"
        : times.zoned ? "a date with a zone (Z or +01:00)"
                      : "a date without a zone");
  return value;
}

EventData make_events(const TrainedModel& trained, std::span<const double> times, std::span<const std::int64_t> marks,
                      std::span<const std::uint32_t> sequences) {
  return with_errors([&] {
    const bool any = predict_any_events(trained);
    EventTableForm form = event_tasks_of(trained).table_form();
    check(!times.empty(), "[events] no event found, expected one or more");
    check((marks.empty() || marks.size() == times.size()) && (sequences.empty() || sequences.size() == times.size()),
          "[events] {} times, {} marks and {} numbers of sequences found, expected one of each for every event",
          times.size(), marks.size(), sequences.size());
    const std::size_t count = sequences.empty() ? 1 : std::size_t{std::ranges::max(sequences)} + 1;
    check(count <= times.size(), "[events] the sequence {} found, expected numbers from 0 on, each with an event",
          count - 1);
    if (any) fit_form_of_any_events(times, marks, sequences, form);
    EventAppender all(form, count);
    for (std::size_t i = 0; i < times.size(); ++i)
      all.append(i, times[i], marks.empty() ? 0 : marks[i], sequences.empty() ? 0 : sequences[i]);
    EventData data = with_warnings(form, {.sequences = all.finish(), .times = {.kind = ColumnForm::Kind::number}});
    return any ? latest_events(std::move(data)) : data;
  });
}

EventData read_events(const TrainedModel& trained, const std::filesystem::path& table, const ColumnChoice& wishes,
                      const CellRules& cells) {
  return with_errors([&] {
    const EventTasks& config = event_tasks_of(trained);
    check(wishes.inputs.size() <= 1 && wishes.values.size() <= 1,
          "[predict] several --inputs or --values found, expected the column of times and that of marks");
    if (predict_any_events(trained)) {
      const EventTableForm any = form_of_any_events(trained, table, wishes, cells);
      return latest_events(with_warnings(any, read_event_table(table, any)));
    }
    EventTableForm form = form_of(wishes, config);
    form.cells = cells;
    const bool named = !wishes.group.empty() || !wishes.inputs.empty() || !wishes.values.empty();
    if (config.is_jodie()) {
      const EventTableForm plain;
      const bool is_plain = table == "-" || TableReader(table).format().find(plain.sequence).has_value();
      if (!named && !is_plain) return with_warnings(form, read_jodie_table(table, form));
      if (wishes.group.empty()) form.sequence = plain.sequence;
      if (wishes.inputs.empty()) form.time = plain.time;
      if (wishes.values.empty()) form.mark = plain.mark;
    }
    return with_warnings(form, read_event_table(table, form));
  });
}

void predict_following_events(const TrainedModel& trained, const EventData& data, const EventOptions& options,
                              const std::function<void(std::size_t, const FollowingEvents&)>& take) {
  return call_application(options.stop, trained.model.get(), [&] {
    static_cast<void>(event_tasks_of(trained));
    check_options(options);
    const double unit = data.form.unit;
    const OwnModel own(trained, data);
    const Model& model = own.model();
    for (const NamedSequence& s : data.sequences) static_cast<void>(until_now(s, options.now, data));
    for (std::size_t i = 0; i < data.sequences.size(); ++i) {
      throw_if_stopped();
      const EventSequence past = until_now(data.sequences[i], options.now, data);
      const double start = data.sequences[i].start, last = start + past.times.back();
      NextEventForecast next = forecast_next(model, past, options.quantiles);
      FollowingEvents following{.last = last * unit,
                                .mean = (last + next.expected_gap) * unit,
                                .mark_probability = std::move(next.mark_probability)};
      for (const double gap : next.gap_quantiles) following.quantiles.push_back((last + gap) * unit);
      if (options.horizon > 0)
        add_paths(model, past, start, i, data, options, options.seed.value_or(trained.checkpoint.run.seed), following);
      take(i, following);
      if (options.progress) options.progress(static_cast<std::int64_t>(i) + 1, std::ssize(data.sequences));
    }
  });
}

std::vector<FollowingEvents> predict_following_events(const TrainedModel& trained, const EventData& data,
                                                      const EventOptions& options) {
  std::vector<FollowingEvents> all;
  predict_following_events(trained, data, options,
                           [&](std::size_t, const FollowingEvents& following) { all.push_back(following); });
  return all;
}

std::vector<std::vector<double>> log_likelihoods_of_events(const TrainedModel& trained, const EventData& data) {
  const OwnModel own(trained, data);
  std::vector<std::vector<double>> all;
  for (const NamedSequence& sequence : data.sequences) {
    throw_if_stopped();
    std::vector<double> each(static_cast<std::size_t>(sequence.left_out), std::numeric_limits<double>::quiet_NaN());
    for (const double value : event_log_likelihoods(own.model(), sequence.events))
      each.push_back(value - std::log(data.form.unit));
    all.push_back(std::move(each));
  }
  return all;
}

}  // namespace npzoo
