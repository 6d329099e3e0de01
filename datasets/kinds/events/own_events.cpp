#include "npzoo/datasets/kinds/events/own_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "npzoo/datasets/tables/own_file.h"
#include "npzoo/datasets/tables/table_reader.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/text.h"
#include "npzoo/engine/io/toml.h"

namespace npzoo {

namespace {

/// Facts about a table that decide how to read it: its sequences, marks and mean gap.
class EventTableFacts {
 public:
  explicit EventTableFacts(const OwnEvents& own) {
    TableReader reader(own.path);
    const TableFormat& format = reader.format();
    CellParser parser(format);
    std::optional<std::size_t> sequence, mark;
    if (!own.sequence.empty()) sequence = format.column(own.sequence);
    const std::size_t time = format.column(own.time);
    if (!own.mark.empty()) mark = format.column(own.mark);
    while (reader.next()) {
      const auto& cells = reader.cells();
      add_time(std::string(sequence ? trim(cells[*sequence]) : std::string_view()),
               parser.required(cells[time], time, reader.line()));
      if (mark) add_mark(format, *mark, trim(cells[*mark]), reader.line());
    }
  }

  std::int64_t sequences() const { return std::ssize(spans_); }
  bool has_equal_times() const { return equal_times_; }
  std::int64_t marks() const { return std::max<std::int64_t>(std::ssize(marks_), 1); }

  /// Names of the marks, sorted as numbers or else as text. Empty if the table already writes 0, 1, 2 …
  std::vector<std::string> mark_names() const {
    std::vector<std::string> names(marks_.begin(), marks_.end());
    const auto number = [](const std::string& name) {
      double value = 0;
      const char* end = name.data() + name.size();
      return std::from_chars(name.data(), end, value).ptr == end ? std::optional(value) : std::nullopt;
    };
    if (std::ranges::all_of(names, [&](const std::string& name) { return number(name).has_value(); }))
      std::ranges::stable_sort(names, {}, number);
    std::int64_t next = 0;
    const bool counted =
        std::ranges::all_of(names, [&](const std::string& name) { return name == fmt::format("{}", next++); });
    return counted ? std::vector<std::string>() : names;
  }

  /// The mean gap between events of a sequence, to three digits; 0 if there is none.
  double mean_gap() const {
    double length = 0, gaps = 0;
    for (const auto& [name, span] : spans_) {
      length += span.last - span.first;
      gaps += static_cast<double>(span.events - 1);
    }
    if (gaps == 0 || !(length > 0)) return 0;
    const double place = std::pow(10, std::floor(std::log10(length / gaps)) - 2);
    return std::round(length / gaps / place) * place;
  }

 private:
  struct Span {
    double first = 0, last = 0;
    std::int64_t events = 0;
  };

  void add_time(const std::string& sequence, double time) {
    Span& span = spans_[sequence];
    if (span.events == 0) span.first = time;
    equal_times_ |= span.events > 0 && time == span.last;
    span.last = time;
    ++span.events;
  }

  void add_mark(const TableFormat& format, std::size_t column, std::string_view cell, std::int64_t line) {
    check(!is_missing_name(cell), "[{}:{}] column {} holds {}, expected the kind of the event", format.name(), line,
          format.title(column), in_quotes(cell));
    marks_.emplace(cell);
    check(std::ssize(marks_) <= kMostMarks, "[{}] column {} holds more than {} kinds of events, expected fewer",
          format.name(), format.title(column), kMostMarks);
  }

  std::map<std::string, Span> spans_;
  std::set<std::string, std::less<>> marks_;
  bool equal_times_ = false;
};

}  // namespace

OwnTasks on_own_events(const OwnEvents& own, const EventFile& recipe, const EventTaskRules& rules) {
  constexpr std::int64_t kEnoughSequences = 10;
  constexpr double kLeastGap = 1e-3;  // of the mean gap
  check_read_again(own.path, "events");
  const EventTableFacts facts(own);
  const double unit = facts.mean_gap();
  check(unit > 0 && std::isfinite(unit),
        "[events] {}: no time passes between events of a sequence, expected times that ascend in it",
        own.path.string());
  EventFile file = recipe;
  file.path = own.path.string();
  file.by_time = facts.sequences() < kEnoughSequences;
  file.form.sequence = own.sequence, file.form.time = own.time, file.form.mark = own.mark;
  file.form.marks = facts.marks(), file.form.mark_names = facts.mark_names();
  file.form.unit = unit;
  file.form.least_gap = facts.has_equal_times() ? kLeastGap : 0;
  static_cast<void>(divide(read_event_table(own.path, file.form).sequences, file, rules));
  toml::table data{{"file", absolute_path(own.path).string()},
                   {"checksum", table_checksum(own.path)},
                   {"sequence", own.sequence},
                   {"time", own.time},
                   {"marks", file.form.marks},
                   {"unit", unit},
                   {"least_gap", file.form.least_gap},
                   {"held_out_by", file.by_time ? "time" : "sequence"}};
  if (file.form.marks > 1) data.insert("mark", own.mark);
  if (!file.form.mark_names.empty()) data.insert("mark_names", toml_array(file.form.mark_names));
  return {.data = toml_text(data)};
}

}  // namespace npzoo
