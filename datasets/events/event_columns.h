#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "npzoo/datasets/tables/table.h"

namespace npzoo {

/// Columns of a table of events that its user names; an empty name: the table has none.
struct NamedEventColumns {
  std::optional<std::string> sequence{}, time{}, mark{};
};

/// Columns of a table of events; those of sequences and of marks may be empty.
struct EventColumns {
  std::string sequence, time, mark;
  ColumnForm times{};  // how all cells of that column write times
};

/// Adds what is not named: the columns called sequence, time and mark, if there are such; else, of times, the only one
/// of dates, and of marks, the only one of words. Throws Error, naming `time_flag`, if it finds no column of times.
EventColumns choose_event_columns(Table& table, const NamedEventColumns& named, const char* time_flag);

/// Whether the rows of a table are events, beyond doubt: it has up to three columns; one is called time or holds dates,
/// and all others are called sequence or mark, or hold up to eight words, of which one occurs twice. No cell is
/// missing, and marks are whole numbers or words. Mostly the first row decides. Throws Error as TableReader does.
bool holds_events(const std::filesystem::path& table, const CellRules& rules = {});

}  // namespace npzoo
