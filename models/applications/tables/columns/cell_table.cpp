#include "npzoo/models/applications/tables/columns/cell_table.h"

#include <map>

namespace npzoo {

std::vector<RowPattern> row_patterns(const CellTable& table) {
  std::map<std::vector<bool>, std::size_t> numbers;
  std::vector<RowPattern> patterns;
  std::vector<bool> known(table.columns);
  for (std::size_t row = 0; row < table.rows; ++row) {
    for (std::size_t c = 0; c < table.columns; ++c) known[c] = table.known(row, c);
    const auto [at, is_new] = numbers.try_emplace(known, patterns.size());
    if (is_new) {
      RowPattern& pattern = patterns.emplace_back();
      for (std::uint32_t c = 0; c < table.columns; ++c) (known[c] ? pattern.known : pattern.missing).push_back(c);
    }
    patterns[at->second].rows.push_back(static_cast<std::uint32_t>(row));
  }
  return patterns;
}

}  // namespace npzoo
