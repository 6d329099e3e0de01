#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "npzoo/models/applications/tables/columns/columns_together.h"

namespace npzoo {

/// Whether the columns of a table helped each other, and how much.
struct ColumnHelp {
  std::vector<std::string> names{};  // of the values, then of the helpers; words of one column have one name
  std::size_t values = 0;
  bool with_inputs = true;             // else rows have no input
  bool of_groups = false;              // each group has columns of its own
  std::vector<std::string> methods{};  // that share the gaps, in the order of the shares
  std::vector<GapShares> gaps{};       // of each kind of gap with missing cells
  std::vector<ColumnGain> columns{};   // of each name
  std::vector<std::string> unused{};   // which helpers are not used, and why
  std::string apart{};                 // why columns were not tried together; empty: they were
  bool by_options = false;             // this is because values are used as they are

  bool together() const;
  /// "columns" or "groups".
  std::string what() const;
  /// "columns help each other: …", for the header of tables.
  std::string text() const;
  /// The same in a few words, for a summary; empty if columns did not help and options do not keep them from it.
  std::string summary() const;
  /// The name of a kind of gap: "short gaps", "long gaps", "gaps".
  std::string name_of(const GapShares& gap) const;
  /// Names of the columns that help and are not predicted, each once.
  std::string helpers() const;
  /// "; status is not used: …", or nothing.
  std::string not_used() const;
  /// The share of each other name in the prediction of a column.
  std::vector<std::pair<std::string, double>> sources(std::size_t column) const;
  /// The gain of each column and the column it learns most from, of the first twelve.
  std::string gain_of_each() const;
};

/// Each name once: the words of a column have its name.
std::vector<std::string> distinct(std::span<const std::string> names);

}  // namespace npzoo
