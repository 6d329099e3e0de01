#include "npzoo/datasets/events/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include "npzoo/datasets/tables/table_reader.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"
#include "npzoo/engine/words.h"

namespace npzoo {

namespace {

/// Name of the sequence of a table without a column of sequences.
constexpr std::string_view kOnlySequence = "1";

/// The cells of a row that are read.
struct EventCells {
  std::string_view sequence, time, mark;
};

/// Lists the marks for messages.
std::string list_of_marks(const EventTableForm& form) {
  if (form.mark_names.empty())
    return form.marks == 1 ? "the mark 0" : fmt::format("a mark, one of 0 … {}", form.marks - 1);
  constexpr std::size_t kShown = 6;
  const std::size_t shown = std::min(kShown, form.mark_names.size());
  return fmt::format("a mark of the training: {}{}", fmt::join(std::span(form.mark_names).first(shown), ", "),
                     shown < form.mark_names.size() ? ", …" : "");
}

/// Puts events where they belong.
class EventCollector {
  struct Row {
    double time = 0;  // in the form's unit
    std::int64_t mark = 0, line = 0;
  };
  struct Sequence {
    std::string name;
    std::vector<Row> rows;
  };

 public:
  /// Positions of the columns. Without one of sequences there is one sequence, without one of marks one mark.
  EventCollector(const TableFormat& format, const EventTableForm& form, std::size_t time,
                 std::optional<std::size_t> mark)
      : format_(format), form_(form), parser_(format, form.cells), time_(time), mark_(mark) {
    parser_.set_form(time, form.times);
    for (std::size_t k = 0; k < form.mark_names.size(); ++k)
      mark_of_name_.emplace(form.mark_names[k], static_cast<std::int64_t>(k));
  }

  void add(const EventCells& cells, std::int64_t line) {
    const double time = number(cells.time, time_, line) / form_.unit;
    const std::string name(trim(cells.sequence));
    check(!name.empty(), "[{}:{}] the sequence has no name, expected one in every row", format_.name(), line);
    const auto [found, is_new] = by_name_.try_emplace(name, all_.size());
    if (is_new) all_.push_back({.name = name, .rows = {}});
    if (!form_.from_first_event) check_time(time, form_.start, cells.time, line);
    std::vector<Row>& rows = all_[found->second].rows;
    check(std::ssize(rows) < PointProcess::kMostEvents,
          "[{}:{}] sequence {} has one more event, expected at most {} events", format_.name(), line, in_quotes(name),
          PointProcess::kMostEvents);
    rows.push_back({time, mark_ ? read_mark(cells.mark, line) : 0, line});
  }

  EventTable finish() {
    check(!all_.empty(), "[{}] has no events, expected at least one", format_.name());
    EventTable table{.sequences = {}, .times = parser_.form(time_)};
    for (Sequence& sequence : all_) table.sequences.push_back(in_order(sequence, table));
    return table;
  }

 private:
  double number(std::string_view cell, std::size_t column, std::int64_t line) {
    const double value = parser_.required(cell, column, line);
    const bool is_date = parser_.form(column).kind == ColumnForm::Kind::time;
    if (is_date && (column != time_ || !form_.from_first_event))
      refuse(cell, column, line, "a number, not a date: write the time since observation began, as 2.5 days");
    return value;
  }

  std::string shown(double time) const { return parser_.form(time_).text(time * form_.unit); }

  /// `time` as the table has it.
  void check_time(double time, double start, std::string_view cell, std::int64_t line) const {
    if (time < start && !form_.from_first_event)
      refuse(cell, time_, line, fmt::format("a time of {} or more", shown(start)));
    if (form_.end && time > *form_.end)
      refuse(cell, time_, line, fmt::format("at most the end, {}", *form_.end * form_.unit));
    if (time - start > kLatestEvent)
      refuse(cell, time_, line, fmt::format("at most {:g}", (start + kLatestEvent) * form_.unit));
  }

  /// A row that comes after another one of its sequence.
  void check_order(const Row& row, const Row& before) const {
    const bool may_equal = form_.least_gap > 0;
    if (row.time > before.time || (may_equal && row.time == before.time)) return;
    const std::string hint = row.time == before.time ? ": move the later one by a little, or give a least_gap"
                             : form_.either_order    ? ": sort the rows by time, or name the column of sequences"
                                                     : "";
    refuse(shown(row.time), time_, row.line,
           fmt::format("{} {}, the time of the previous event of the sequence{}", may_equal ? "at least" : "more than",
                       shown(before.time), hint));
  }

  /// Returns the events of a sequence in the order of time, and empties it.
  NamedSequence in_order(Sequence& sequence, EventTable& table) const {
    std::vector<Row> rows = std::move(sequence.rows);
    const bool descends =
        rows.front().time > rows.back().time && std::ranges::is_sorted(rows, std::ranges::greater(), &Row::time);
    if (form_.either_order && descends) {
      std::ranges::reverse(rows);
      ++table.reversed;
    }
    double start = form_.from_first_event ? rows.front().time : form_.start;
    if (form_.from_first_event && form_.from_midnight) start = std::floor(start * form_.unit) / form_.unit;
    NamedSequence named{.name = sequence.name, .events = {}, .start = start};
    EventSequence& events = named.events;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i > 0) check_order(rows[i], rows[i - 1]);
      if (form_.from_first_event) check_time(rows[i].time, start, shown(rows[i].time), rows[i].line);
      const double time = rows[i].time - start,
                   moved = i == 0 ? time : std::max(time, events.times.back() + form_.least_gap);
      if (i > 0 && moved <= events.times.back())
        refuse(shown(rows[i].time), time_, rows[i].line,
               fmt::format("a time small enough to differ from the one before by {}", form_.least_gap * form_.unit));
      table.moved += moved > time;
      events.times.push_back(moved);
      events.marks.push_back(rows[i].mark);
    }
    events.end = std::max(form_.end.value_or(start) - start, events.times.back());
    return named;
  }

  std::int64_t read_mark(std::string_view cell, std::int64_t line) {
    if (!form_.mark_names.empty()) {
      const auto known = mark_of_name_.find(trim(cell));
      if (known == mark_of_name_.end()) refuse(cell, *mark_, line, list_of_marks(form_));
      return known->second;
    }
    if (!is_missing(cell) && parser_.kind_of(cell) != ColumnForm::Kind::number)
      refuse(cell, *mark_, line, fmt::format("a number: write the kinds of events as 0 … {}", form_.marks - 1));
    const double mark = number(cell, *mark_, line);
    if (!(mark >= 0 && mark < static_cast<double>(form_.marks) && mark == std::floor(mark)))
      refuse(cell, *mark_, line, list_of_marks(form_));
    return static_cast<std::int64_t>(mark);
  }

  [[noreturn]] void refuse(std::string_view cell, std::size_t column, std::int64_t line,
                           const std::string& expected) const {
    fail("[{}:{}] column {} holds {}, expected {}", format_.name(), line, format_.title(column), in_quotes(trim(cell)),
         expected);
  }

  const TableFormat& format_;
  const EventTableForm& form_;
  CellParser parser_;
  std::size_t time_;
  std::optional<std::size_t> mark_;
  std::map<std::string, std::int64_t, std::less<>> mark_of_name_;
  std::vector<Sequence> all_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace

EventTable read_event_table(const std::filesystem::path& path, const EventTableForm& form) {
  TableReader reader(path);
  const TableFormat& format = reader.format();
  std::optional<std::size_t> sequence, mark;
  if (!form.sequence.empty()) sequence = format.column(form.sequence);
  const std::size_t time = format.column(form.time);
  if (!form.mark.empty()) mark = form.marks > 1 ? format.column(form.mark) : format.find(form.mark);
  EventCollector events(format, form, time, mark);
  while (reader.next()) {
    const auto& cells = reader.cells();
    events.add({sequence ? cells[*sequence] : kOnlySequence, cells[time], mark ? cells[*mark] : std::string_view()},
               reader.line());
  }
  return events.finish();
}

std::string warning_of_late_start(const std::vector<NamedSequence>& sequences, const EventTableForm& form) {
  constexpr double kManyLengths = 1000;
  double earliest = std::numeric_limits<double>::infinity();
  for (const NamedSequence& s : sequences) {
    const double first = s.events.times.front(), length = s.events.times.back() - first;
    if (s.events.events() < 2 || first <= kManyLengths * length) return {};
    earliest = std::min(earliest, first);
  }
  return fmt::format(
      "the first event is at {}, long after time 0, where observation begins: subtract the time at which it began from "
      "all times",
      (earliest + form.start) * form.unit);
}

std::string warning_of_moved_events(const EventTable& table, const EventTableForm& form) {
  if (table.moved == 0) return {};
  return fmt::format("{} at the time of the one before, as after rounding to seconds, moved apart by {:.3g}{}",
                     counted(table.moved, "event"), form.least_gap * form.unit,
                     table.times.kind == ColumnForm::Kind::time ? " days" : "");
}

EventTable read_jodie_table(const std::filesystem::path& path, const EventTableForm& form) {
  constexpr std::size_t kUser = 0, kItem = 1, kTime = 2, kUsed = 3;
  TableReader reader(path);
  check(reader.format().columns() > kUsed && reader.format().separator() == ',',
        "[{}] has {} columns, expected user, item, timestamp, label and features, separated by commas",
        reader.format().name(), reader.format().columns());
  EventCollector events(reader.format(), form, kTime, kItem);
  while (reader.next()) {
    std::string_view rest = reader.text();
    std::array<std::string_view, kUsed> cells;
    for (std::string_view& cell : cells) {
      const std::size_t comma = rest.find(',');
      check(comma != rest.npos, "[{}:{}] has too few fields, expected user, item, timestamp, label and features",
            reader.format().name(), reader.line());
      cell = rest.substr(0, comma);
      rest.remove_prefix(comma + 1);
    }
    events.add({cells[kUser], cells[kTime], cells[kItem]}, reader.line());
  }
  return events.finish();
}

}  // namespace npzoo
