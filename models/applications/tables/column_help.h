#pragma once

#include <string>
#include <vector>

#include "npzoo/models/applications/tables/columns/columns_together.h"

namespace npzoo {

/// Whether the columns of a table helped each other, and how much.
struct ColumnHelp {
  std::vector<std::string> names{};  // of the values, then of the helpers
  std::size_t values = 0;
  bool with_inputs = true;            // else rows have no input
  std::vector<GapShares> gaps{};      // of each kind of gap with missing cells
  std::vector<ColumnGain> columns{};  // of each name
  std::string apart{};                // why columns were not tried together; empty: they were
  bool by_options = false;            // this is because of bounds, a transform or values taken as they are

  bool together() const;
  /// "columns help each other: …", for the header of tables.
  std::string text() const;
  /// The same in a few words, for a summary; empty if columns did not help and options do not keep them from it.
  std::string summary() const;
  /// The name of a kind of gap: "short gaps", "long gaps", "gaps".
  std::string name_of(const GapShares& gap) const;
  /// Names of the methods that share the gaps, in the order of the shares.
  std::vector<std::string> methods() const;
};

}  // namespace npzoo
