#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "npzoo/models/applications/tables/columns/columns_together.h"

using namespace npzoo;

namespace {

/// Cells of three columns that share one cause, with holes; the second and the third column end early.
class EarlyEnds {
 public:
  static constexpr std::size_t kRows = 150, kColumns = 3;
  static constexpr std::size_t kAsked[] = {0, 20, 30};  // cells behind the last known one

  EarlyEnds() : truth(kRows, kColumns), table(kRows, kColumns) {
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t c = 0; c < kColumns; ++c) {
        truth(i, c) = (noise(i, 99) + 0.4 * noise(i, c)) * scale(c);
        const bool hole = !is_end(i, 2) && (i + 3 * c) % (4 + c) == 0;
        table(i, c) = hole || is_end(i, c) ? std::numeric_limits<double>::quiet_NaN() : truth(i, c);
      }
  }

  static double scale(std::size_t column) { return 1 + static_cast<double>(column); }
  static bool is_end(std::size_t row, std::size_t column) { return row + 10 * (column + 1) >= kRows && column > 0; }

  CellTable truth, table;

 private:
  /// Numbers that look random, of mean 0.
  static double noise(std::size_t row, std::size_t column) {
    const double x =
        std::sin(12.9898 * static_cast<double>(row + 1) + 78.233 * static_cast<double>(column + 1)) * 43758.5453;
    return 3.4 * (x - std::floor(x) - 0.5);
  }
};

}  // namespace

TEST_CASE("columns: series that end early keep their forecasts where these are better, and gaps still change") {
  const EarlyEnds ends;
  const auto forecast = [&](const CellTable& shown) {  // exact behind the end of a column alone
    CellFigures alone(EarlyEnds::kRows, EarlyEnds::kColumns);
    const std::vector<GapKind> kinds = gap_kinds(shown, true);
    for (std::size_t i = 0; i < EarlyEnds::kRows; ++i)
      for (std::size_t c = 0; c < EarlyEnds::kColumns; ++c) {
        const bool end = kinds[i * EarlyEnds::kColumns + c] == GapKind::end;
        alone.mean(i, c) = end ? ends.truth(i, c) : 0;
        alone.std(i, c) = (end ? 0.05 : 1.1) * EarlyEnds::scale(c);
      }
    return alone;
  };
  std::vector<double> times(EarlyEnds::kRows);
  std::iota(times.begin(), times.end(), 0.0);
  const CellFigures alone = forecast(ends.table);
  const ColumnsAnswer answer = fill_columns(ends.table, alone, forecast, times, ends.table.columns, EarlyEnds::kAsked);
  CHECK(answer.together());
  std::size_t inside = 0;
  for (std::size_t i = 0; i < EarlyEnds::kRows; ++i)
    for (std::size_t c = 0; c < EarlyEnds::kColumns; ++c) {
      const bool changed = answer.changed[i * EarlyEnds::kColumns + c];
      if (EarlyEnds::is_end(i, c)) CHECK_FALSE(changed);
      inside += changed;
    }
  CHECK(inside > 20);
}
