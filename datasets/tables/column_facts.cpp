#include "npzoo/datasets/tables/column_facts.h"

#include <algorithm>
#include <string>

namespace npzoo {

namespace {

using Kind = ColumnSummary::Kind;
using Names = std::vector<std::string>;

}  // namespace

std::vector<std::vector<ShownCell>> first_cells(const Table& table) {
  constexpr std::size_t kLooked = 4;
  constexpr std::int64_t kRows = 64;
  std::vector<std::vector<ShownCell>> found(table.header().size());
  const CellParser parser(table.format(), table.rules());
  Cells cells;
  for (std::int64_t row = 0; row < std::min(table.rows(), kRows); ++row) {
    table.format().split(table.text(row), table.line(row), cells);
    for (std::size_t c = 0; c < found.size(); ++c)
      if (found[c].size() < kLooked && !parser.is_missing(cells.text[c]))
        found[c].push_back({row, std::string(cells.text[c])});
  }
  return found;
}

std::vector<ColumnFacts> facts_of(Table& table) {
  const std::vector<ColumnSummary>& summaries = table.summaries();
  const std::vector<std::vector<ShownCell>> first = first_cells(table);
  std::vector<ColumnFacts> all;
  for (std::size_t c = 0; c < summaries.size(); ++c) {
    const bool iso = !first[c].empty() && parse_date_time(first[c][0].text);
    all.push_back({table.header()[c], summaries[c].kind, summaries[c].missing, iso, summaries[c].clock});
  }
  return all;
}

Names open_columns_of(Table& table, const ColumnChoice& choice, Kind kind) {
  return open_columns(facts_of(table), choice, [kind](const ColumnFacts& c) { return c.kind == kind; });
}

namespace {

/// Columns of a kind that may help: with an input, only those that miss nothing.
Names helping(Table& table, const ColumnChoice& choice, Kind kind) {
  const bool gaps = choice.inputs.empty();
  return open_columns(facts_of(table), choice,
                      [&](const ColumnFacts& c) { return c.kind == kind && (gaps || c.missing == 0); });
}

}  // namespace

std::vector<std::string> helping_columns(Table& table, const ColumnChoice& choice) {
  return helping(table, choice, Kind::number);
}

std::vector<std::string> helping_words(Table& table, const ColumnChoice& choice) {
  return helping(table, choice, Kind::text);
}

}  // namespace npzoo
