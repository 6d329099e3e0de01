#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "npzoo/datasets/events/table.h"
#include "npzoo/datasets/tables/table_reader.h"

namespace npzoo {

/// Facts about a table of events that decide how to read it: its sequences, kinds of events and gaps.
class EventTableFacts {
 public:
  /// Reads the table once. Of `form` the names of columns count. Throws Error as TableReader and CellParser do, for an
  /// event without a kind, and for more than `most_marks` kinds.
  explicit EventTableFacts(const std::filesystem::path& table, const EventTableForm& form,
                           std::int64_t most_marks = kMostMarks);

  std::int64_t sequences() const { return std::ssize(spans_); }
  bool has_dates() const { return dates_; }
  std::int64_t marks() const { return std::max<std::int64_t>(std::ssize(marks_), 1); }
  /// Names of the kinds that occur, sorted as numbers or else as text.
  std::vector<std::string> all_mark_names() const;
  /// The same; empty if the table already writes 0, 1, 2 …
  std::vector<std::string> mark_names() const;
  /// The mean gap between events of a sequence, to three digits; 0 if there is none.
  double mean_gap() const;
  /// How far npzoo moves neighbours of a sequence apart that have one time, as after rounding to seconds. 0: no
  /// two have.
  double least_gap() const;

 private:
  struct Span {
    double low = 0, high = 0, last = 0;
    std::int64_t events = 0;
  };
  void add_time(const std::string& sequence, double time);
  void add_mark(const TableFormat& format, std::size_t column, std::string_view cell, std::int64_t line);

  std::int64_t most_marks_;
  std::map<std::string, Span> spans_;
  std::set<std::string, std::less<>> marks_;
  bool equal_times_ = false, dates_ = false;
};

}  // namespace npzoo
