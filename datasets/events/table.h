#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/events/process.h"
#include "npzoo/datasets/tables/cell_parser.h"

namespace npzoo {

/// Classes that models of events can have.
inline constexpr std::int64_t kMostMarks = 65'536;

/// How a table of events is written, one row an event. Rows of a sequence come in the order of time; those of several
/// may be mixed.
struct EventTableForm {
  std::string sequence = "sequence";         // empty: all rows are one sequence
  std::string time = "time", mark = "mark";  // `mark` may be empty, and missing where there is one mark alone
  std::int64_t marks = 1;                    // M
  std::vector<std::string> mark_names{};     // how the table writes each mark; empty: as whole numbers 0 … M − 1
  double unit = 1;                           // that times are divided by
  std::optional<double> end{};               // in that unit: until when each is observed; none: until its last event
  double least_gap = 0;  // in that unit: nearer events are moved so far apart; 0: equal times are refused
  double start = 0;      // in that unit: when observation begins; it is subtracted from times and `end`
  /// Observation of each sequence begins with its first event. Times may then be dates, which count as days.
  bool from_first_event = false;
  bool from_midnight = false;  // with `from_first_event`, of dates: with the midnight before it
  CellRules cells{};           // for reading cells
  ColumnForm times{};          // how the column writes times, if all cells are needed to tell (Table::input_forms)
  bool either_order = false;   // the rows of a sequence may also come newest first, as in logs and catalogues
};

/// The latest time after `start`, in the table's unit of time: float32 holds its square.
inline constexpr double kLatestEvent = 1e15;

struct NamedSequence {
  std::string name;
  EventSequence events;
  double start = 0;           // in the unit of times: when observation begins, which was subtracted from them
  std::int64_t left_out = 0;  // events before these
};

struct EventTable {
  std::vector<NamedSequence> sequences;  // in the order in which they appear
  ColumnForm times;                      // how their column writes times
  std::int64_t reversed = 0;             // sequences whose rows came newest first
  std::int64_t moved = 0;                // events that `least_gap` moved
};

/// Warns if observation seems not to begin at time 0, as with seconds since 1970: every sequence's first event comes
/// after more time than 1000 times its length. Names the earliest time. Empty otherwise.
std::string warning_of_late_start(const std::vector<NamedSequence>& sequences, const EventTableForm& form);

/// Warns of events that `least_gap` moved, and names the distance. Empty if there are none.
std::string warning_of_moved_events(const EventTable& table, const EventTableForm& form);

/// Columns that are not named are not looked at.
/// Throws Error as TableReader and CellParser do, naming the line, for times that are negative, not ascending, after
/// the end or too large to be moved apart, for what is no mark, and if there is no event.
EventTable read_event_table(const std::filesystem::path& path, const EventTableForm& form);

/// The same of the files of Kumar, Zhang and Leskovec, "Predicting dynamic embedding trajectory in temporal interaction
/// networks" (JODIE), KDD 2019: a header, then user, item, time in seconds, label, and features, as many as there are.
/// A user is a sequence, an item a mark. Of `form` only marks, unit, end and least_gap count.
EventTable read_jodie_table(const std::filesystem::path& path, const EventTableForm& form);

}  // namespace npzoo
