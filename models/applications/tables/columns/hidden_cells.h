#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/models/applications/tables/columns/cell_table.h"

namespace npzoo {

/// The gap that a missing cell is in.
enum class GapKind : std::uint8_t {
  none,       // the cell is known
  whole_row,  // its row has no known cell
  short_gap,  // up to two rows of a series, or any of a table without an order
  long_gap,
  end  // behind the last known cell of a series
};
inline constexpr std::size_t kGapKinds = 5;
inline constexpr GapKind kFilledGaps[] = {GapKind::short_gap, GapKind::long_gap, GapKind::end};

/// Kinds of the cells, row-major. `ordered`: rows follow each other in time.
std::vector<GapKind> gap_kinds(const CellTable& table, bool ordered);

/// Returns which known cells to hide, to score methods: the table's own pattern of gaps, moved in time or, without an
/// order, to other rows, and there in half of the rows. Without an order or a gap, a tenth of the cells. `ends`: so
/// many last known cells of each column are hidden as well, at most a third; empty: none. Every column keeps some known
/// cells. Each `fold` hides others.
std::vector<bool> cells_to_hide(const CellTable& table, bool ordered, std::size_t fold = 0,
                                std::span<const std::size_t> ends = {});

}  // namespace npzoo
