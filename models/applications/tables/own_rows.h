#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "npzoo/datasets/series/time_series.h"
#include "npzoo/datasets/tables/time_notation.h"
#include "npzoo/models/applications/tables/fill_table.h"

namespace npzoo {

/// The rows of each group, by its number; all rows without groups.
std::vector<std::vector<std::int64_t>> rows_of_groups(const FillTables& tables);
/// ", group "a"", for messages; empty without groups.
std::string group_text(const FillTables& tables, std::size_t group);
/// The times of these rows, each once, by the first input. Throws Error for fewer than two.
TimeSeries times_of(const FillTables& tables, std::size_t group, std::span<const std::int64_t> rows);
/// The range of an input over the observed rows.
std::pair<double, double> range_of(const FillTables& tables, std::size_t input);

/// Writes cells of the inputs and the group as the table itself does.
class OwnRows {
 public:
  /// `tables` must outlive this.
  explicit OwnRows(const FillTables& tables);

  /// The columns of inputs and group, in the order of the table.
  const std::vector<std::string>& names() const { return names_; }
  /// False if times in several columns are in a notation that cannot be written. They are then in one column.
  bool writes_own_columns() const;
  /// A row with these columns. All but those of `names` stay blank.
  std::string row(std::span<const std::string> columns, std::span<const double> x, std::uint32_t group) const;

 private:
  std::string cell(const std::string& name, std::span<const double> x, std::uint32_t group) const;
  std::string group_cell(const std::string& name, std::uint32_t group) const;
  void add_times(const std::string& name, std::size_t input);

  const FillTables& tables_;
  const TableFormat& format_;
  std::map<std::string, TimeNotation> notations_;
  std::vector<std::string> names_, group_names_;
  std::vector<std::int64_t> first_rows_;  // of each group
};

}  // namespace npzoo
