#include "npzoo/datasets/events/table_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/parse_number.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

EventTableFacts::EventTableFacts(const std::filesystem::path& table, const EventTableForm& form,
                                 std::int64_t most_marks)
    : most_marks_(most_marks) {
  TableReader reader(table);
  const TableFormat& format = reader.format();
  CellParser parser(format, form.cells);
  std::optional<std::size_t> sequence, mark;
  if (!form.sequence.empty()) sequence = format.column(form.sequence);
  const std::size_t time = format.column(form.time);
  if (!form.mark.empty()) mark = format.column(form.mark);
  parser.set_form(time, form.times);
  while (reader.next()) {
    const auto& cells = reader.cells();
    add_time(std::string(sequence ? trim(cells[*sequence]) : std::string_view()),
             parser.required(cells[time], time, reader.line()));
    if (mark) add_mark(format, *mark, trim(cells[*mark]), reader.line());
  }
  dates_ = parser.form(time).kind == ColumnForm::Kind::time;
}

std::vector<std::string> EventTableFacts::all_mark_names() const {
  std::vector<std::string> names(marks_.begin(), marks_.end());
  const auto number = [](const std::string& name) {
    double value = 0;
    return parse_number(name, value).ptr == name.data() + name.size() ? std::optional(value) : std::nullopt;
  };
  if (std::ranges::all_of(names, [&](const std::string& name) { return number(name).has_value(); }))
    std::ranges::stable_sort(names, {}, number);
  return names;
}

std::vector<std::string> EventTableFacts::mark_names() const {
  std::vector<std::string> names = all_mark_names();
  std::int64_t next = 0;
  const bool counted =
      std::ranges::all_of(names, [&](const std::string& name) { return name == fmt::format("{}", next++); });
  return counted ? std::vector<std::string>() : names;
}

double EventTableFacts::mean_gap() const {
  double length = 0, gaps = 0;
  for (const auto& [name, span] : spans_) {
    length += span.high - span.low;
    gaps += static_cast<double>(span.events - 1);
  }
  if (gaps == 0 || !(length > 0)) return 0;
  const double place = std::pow(10, std::floor(std::log10(length / gaps)) - 2);
  return std::round(length / gaps / place) * place;
}

double EventTableFacts::least_gap() const {
  constexpr double kOfMean = 1e-3;
  return equal_times_ ? kOfMean * mean_gap() : 0;
}

void EventTableFacts::add_time(const std::string& sequence, double time) {
  Span& span = spans_[sequence];
  const bool first = span.events == 0;
  span.low = first ? time : std::min(span.low, time);
  span.high = first ? time : std::max(span.high, time);
  equal_times_ |= !first && time == span.last;
  span.last = time;
  ++span.events;
}

void EventTableFacts::add_mark(const TableFormat& format, std::size_t column, std::string_view cell,
                               std::int64_t line) {
  check(!is_missing_name(cell), "[{}:{}] column {} holds {}, expected the kind of the event", format.name(), line,
        format.title(column), in_quotes(cell));
  marks_.emplace(cell);
  check(std::ssize(marks_) <= most_marks_, "[{}] column {} holds more than {} kinds of events, expected fewer",
        format.name(), format.title(column), most_marks_);
}

}  // namespace npzoo
