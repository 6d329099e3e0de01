#include "npzoo/models/applications/tables/columns/hidden_cells.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "npzoo/datasets/permutation.h"

namespace npzoo {

namespace {

bool empty_row(const CellTable& table, std::size_t row) {
  for (std::size_t c = 0; c < table.columns; ++c)
    if (table.known(row, c)) return false;
  return true;
}

/// The row whose gaps a row gets, and whether it gets any.
struct Move {
  std::size_t from;
  bool hides;
};

class Moves {
 public:
  /// Each `number` moves the pattern elsewhere.
  Moves(std::size_t rows, bool ordered, std::size_t number)
      : rows_(rows), ordered_(ordered), number_(number), permutation_(static_cast<std::int64_t>(rows), kSeed, number) {}

  Move of(std::size_t row) const {
    if (!ordered_) {
      const auto from = static_cast<std::size_t>(permutation_(static_cast<std::int64_t>(row)));
      return {from, from % 2 == 0};
    }
    constexpr std::array kShifts{0.382, 0.618, 0.236, 0.764, 0.146, 0.854, 0.472, 0.09};  // of the rows
    constexpr std::size_t kStripes = 12, kShortest = 3;
    const auto shift = static_cast<std::size_t>(kShifts[number_ % kShifts.size()] * static_cast<double>(rows_));
    const std::size_t stripe = std::max(kShortest, rows_ / kStripes);
    return {(row + rows_ - shift) % rows_, (row / stripe + number_) % 2 == 0};
  }

 private:
  static constexpr std::uint64_t kSeed = 0xc011;
  std::size_t rows_;
  bool ordered_;
  std::size_t number_;
  Permutation permutation_;
};

/// Shows cells of a column again, so that enough are known.
void keep_some(const CellTable& table, std::size_t column, std::vector<bool>& hidden) {
  constexpr std::int64_t kFewest = 6;
  std::int64_t known = 0;
  for (std::size_t row = 0; row < table.rows; ++row)
    known += table.known(row, column) && !hidden[row * table.columns + column];
  for (std::size_t row = 0; row < table.rows && known < kFewest; ++row) {
    const std::size_t at = row * table.columns + column;
    known += hidden[at];
    hidden[at] = false;
  }
}

/// Hides the last known cells of a column.
void hide_end(const CellTable& table, std::size_t column, std::size_t count, std::vector<bool>& hidden) {
  constexpr std::size_t kMostShare = 3;  // one in so many
  std::size_t known = 0;
  for (std::size_t row = 0; row < table.rows; ++row) known += table.known(row, column);
  count = std::min(count, known / kMostShare);
  for (std::size_t row = table.rows; row-- > 0 && count > 0;) {
    if (!table.known(row, column)) continue;
    hidden[row * table.columns + column] = true;
    --count;
  }
}

/// Hides a tenth of the cells of a table without gaps.
void hide_scattered(std::size_t fold, std::vector<bool>& hidden) {
  constexpr std::size_t kShare = 10;
  constexpr std::uint64_t kSeed = 0xce11;
  const Permutation permutation(static_cast<std::int64_t>(hidden.size()), kSeed, fold);
  for (std::size_t i = 0; i < hidden.size() / kShare; ++i)
    hidden[static_cast<std::size_t>(permutation(static_cast<std::int64_t>(i)))] = true;
}

}  // namespace

std::vector<GapKind> gap_kinds(const CellTable& table, bool ordered) {
  constexpr std::size_t kShort = 2;
  std::vector<GapKind> kinds(table.cells.size());
  for (std::size_t c = 0; c < table.columns; ++c)
    for (std::size_t begin = 0; begin < table.rows;) {
      std::size_t end = begin;
      while (end < table.rows && !table.known(end, c)) ++end;
      const GapKind inside = ordered && end - begin > kShort ? GapKind::long_gap : GapKind::short_gap;
      const GapKind kind = ordered && begin > 0 && end == table.rows ? GapKind::end : inside;
      for (std::size_t row = begin; row < end; ++row) kinds[row * table.columns + c] = kind;
      begin = end + 1;
    }
  for (std::size_t row = 0; row < table.rows; ++row)
    if (empty_row(table, row))
      for (std::size_t c = 0; c < table.columns; ++c) kinds[row * table.columns + c] = GapKind::whole_row;
  return kinds;
}

std::vector<bool> cells_to_hide(const CellTable& table, bool ordered, std::size_t fold,
                                std::span<const std::size_t> ends) {
  constexpr std::size_t kEnough = 100, kUsualMoves = 4, kFew = 30, kMostMoves = 8, kShare = 10;
  std::vector<bool> hidden(table.cells.size());
  std::size_t count = 0, known = 0;
  for (const double cell : table.cells) known += !std::isnan(cell);
  for (std::size_t number = 0; number < kMostMoves && table.rows > 0; ++number) {
    if (count >= (number < kUsualMoves ? kEnough : kFew) || (number > 0 && kShare * count >= known)) break;
    const Moves moves(table.rows, ordered, fold * kUsualMoves + number);
    for (std::size_t row = 0; row < table.rows; ++row) {
      const Move move = moves.of(row);
      for (std::size_t c = 0; c < table.columns && move.hides; ++c) {
        const std::size_t at = row * table.columns + c;
        if (hidden[at] || !table.known(row, c) || table.known(move.from, c)) continue;
        hidden[at] = true;
        ++count;
      }
    }
  }
  for (std::size_t c = 0; c < ends.size(); ++c) hide_end(table, c, ends[c], hidden);
  if (!ordered && known == table.cells.size()) hide_scattered(fold, hidden);
  for (std::size_t c = 0; c < table.columns; ++c) keep_some(table, c, hidden);
  return hidden;
}

}  // namespace npzoo
