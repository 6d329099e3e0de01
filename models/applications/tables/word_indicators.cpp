#include "npzoo/models/applications/tables/word_indicators.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "npzoo/datasets/tables/table.h"

namespace npzoo {

std::vector<std::vector<double>> word_indicators(std::span<const std::uint32_t> of_rows) {
  constexpr std::size_t kFewestRows = 5, kMostWords = 20;
  std::map<std::uint32_t, std::size_t> counts;
  for (const std::uint32_t word : of_rows)
    if (word != Table::kNoWord) ++counts[word];
  std::vector<std::pair<std::uint32_t, std::size_t>> kinds;
  std::size_t known = 0, covered = 0;
  for (const auto& [word, rows] : counts) {
    known += rows;
    if (rows < kFewestRows) continue;
    covered += rows;
    kinds.emplace_back(word, rows);
  }
  if (2 * covered < known) return {};
  std::ranges::stable_sort(kinds, std::ranges::greater(), [](const auto& kind) { return kind.second; });
  const bool one_says_all = kinds.size() <= 2 && covered == known;
  if (one_says_all && !kinds.empty()) kinds.pop_back();
  kinds.resize(std::min(kinds.size(), kMostWords));
  std::vector<std::vector<double>> columns;
  for (const auto& [word, rows] : kinds) {
    std::vector<double>& column = columns.emplace_back();
    for (const std::uint32_t own : of_rows)
      column.push_back(own == Table::kNoWord ? std::numeric_limits<double>::quiet_NaN() : own == word ? 1 : 0);
  }
  return columns;
}

}  // namespace npzoo
