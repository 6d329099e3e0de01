#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/columns/columns_together.h"

namespace npzoo {

inline constexpr std::size_t kManyColumns = 40;  // from here on fits end early, and a mixture has too few rows

/// The Gaussian of a large table is fitted to some of its rows.
CellTable rows_to_fit(const CellTable& table);
ColumnGaussian fit_columns(const CellTable& table, double ridge);

/// A table on standardised columns.
struct ColumnQuestion {
  CellTable x;
  double ridge;
  bool with_inputs;
  std::span<const double> times{};      // empty: rows have no order
  bool whole_rows = false;              // whether rows without a known cell are predicted
  std::size_t values = x.columns;       // the first columns, whose hidden cells decide
  std::span<const std::size_t> ends{};  // see fill_columns

  bool ordered() const { return !times.empty(); }
};

/// Predictions of the cells by each method, and by each column alone.
struct ColumnCandidates {
  std::vector<CellFigures> methods{};
  CellFigures alone{};
  std::optional<CellFigures> components{};  // from principal components of rows: for rows without a known cell

  /// Those that share a kind of gap.
  std::vector<const CellFigures*> of(GapKind kind) const;
};
using FindCandidates = std::function<ColumnCandidates(const CellTable& cells)>;

/// Puts the average of the methods into a cell.
void put_mixed(const MethodShares& shares, std::span<const CellFigures* const> methods, std::size_t cell,
               CellFigures& figures);

/// How cells are predicted, by cells that are hidden in the shape of the gaps.
class ColumnDecision {
 public:
  /// The question must live as long as this.
  ColumnDecision(const ColumnQuestion& question, const FindCandidates& find);

  /// Shares of the methods in a kind of gap.
  GapShares shares_of(GapKind kind) const;
  /// Half of each column by itself and half of the components: that helps unless hidden rows are clearly worse.
  GapShares shares_of_whole_rows() const;
  /// Adds the gains on cells of this kind of gap to the sums of each column.
  void add_gain(const GapShares& g, std::vector<ColumnGain>& columns) const;

 private:
  /// Hidden cells of a kind of gap: the prediction of each method, and their values.
  struct HiddenCells {
    std::vector<CellGuess> guesses{};  // (cells, methods)
    std::vector<double> values{};
    std::vector<std::size_t> columns{};
    std::vector<CellGuess> alone{};

    void append(const HiddenCells& other);
    std::size_t methods() const { return values.empty() ? 0 : guesses.size() / values.size(); }
    std::span<const CellGuess> of(std::size_t cell) const {
      return std::span(guesses).subspan(cell * methods(), methods());
    }
  };

  void look(const std::vector<bool>& hidden, const FindCandidates& find);
  bool decides(std::size_t cell) const { return cell % q_.x.columns < q_.values; }
  HiddenCells cells_for(GapKind kind, std::size_t fewest) const;

  const ColumnQuestion& q_;
  std::size_t methods_ = 0;
  std::array<HiddenCells, kGapKinds> hidden_{};  // of each kind of gap
};

/// Turns sums of gains into means, and adds where they come from.
void finish_gains(const ColumnGaussian& gaussian, std::vector<ColumnGain>& gains);

}  // namespace npzoo
