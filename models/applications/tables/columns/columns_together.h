#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/columns/column_mixture.h"
#include "npzoo/models/applications/tables/columns/column_scale.h"
#include "npzoo/models/applications/tables/columns/hidden_cells.h"
#include "npzoo/models/applications/tables/columns/method_shares.h"

namespace npzoo {

/// Predicts the cells of each column by its own model alone, such as from time, given these cells; in their units.
using PredictAlone = std::function<CellFigures(const CellTable& cells)>;

/// How missing cells of a kind of gap are predicted.
struct GapShares {
  GapKind kind = GapKind::none;
  MethodShares methods{};   // in the order of ColumnsAnswer::methods
  bool together = false;    // else by each column alone
  std::int64_t hidden = 0;  // cells that decided
};

/// How the prediction of a column gained from the others, on hidden cells.
struct ColumnGain {
  std::int64_t hidden = 0;         // cells
  double alone = 0, together = 0;  // mean CRPS, in standard deviations of the column; without time `alone` is that of
                                   // mean and standard deviation
  std::vector<double> from{};      // share of each column in what the others say of this one
};

struct ColumnsAnswer {
  CellFigures figures;          // of missing cells, in the units of the table
  std::vector<bool> changed{};  // cells whose figures are not those of their column alone
  std::vector<std::string> methods{};
  std::vector<GapShares> gaps{};
  std::vector<ColumnGain> columns{};
  std::optional<ColumnGaussian> gaussian{};  // of the standardised columns, for the correlations of samples

  bool together() const;
  /// The gain of all columns with hidden cells: 1 − CRPS together / alone.
  double gain() const;
};

/// Predicts missing cells from `alone`, each column's own prediction, and from the other columns. `times` ascend and
/// are those of the rows; empty: rows have no order. Weighs the methods on hidden cells, apart for each kind of gap. A
/// kind whose hidden cells gain nothing keeps `alone`, to the bit. Rows without a known cell, between others, come half
/// from principal components of the rows, unless hidden rows are worse. Only the first `values` columns decide, since
/// `alone` knows nothing of the others. `ends`: so many cells behind the last known one of each of them are wanted. As
/// many known ones are hidden, since a forecast may be better than other columns.
ColumnsAnswer fill_columns(const CellTable& table, const CellFigures& alone, const PredictAlone& predict,
                           std::span<const double> times, std::size_t values, std::span<const std::size_t> ends = {});

/// Predicts missing cells of rows without an input from their other cells. Fitted to a table once, it predicts any
/// rows, each by itself.
class RowModel {
 public:
  static constexpr std::size_t kMostColumns = 500;

  /// Weighs the methods on hidden cells. The order of the rows makes no difference.
  explicit RowModel(const CellTable& table);

  /// Returns the figures of missing cells, in the units of the table. Rows without a known cell get mean and standard
  /// deviation of the columns.
  CellFigures predict(const CellTable& rows) const;

  /// How missing cells of rows with a known cell are predicted.
  const GapShares& shares() const { return shares_; }
  /// Names of the methods that share the cells.
  std::vector<std::string> methods() const;
  /// The gain of each column on hidden cells.
  const std::vector<ColumnGain>& gains() const { return gains_; }
  /// The Gaussian of the standardised columns.
  const ColumnGaussian& gaussian() const { return fitted_[0].gaussian; }

 private:
  /// The methods of one scale, fitted to the cells on it.
  struct OneScale {
    std::vector<ColumnScale> scales;
    ColumnGaussian gaussian;
    std::optional<ColumnMixture> mixture;  // none of many columns
  };
  static std::vector<OneScale> fit(const CellTable& x, double ridge);
  static std::vector<CellFigures> predict(const std::vector<OneScale>& fitted, const CellTable& x);

  std::vector<ColumnScale> scales_;
  std::vector<OneScale> fitted_;
  GapShares shares_;
  std::vector<ColumnGain> gains_;
};

/// Fits a RowModel to a table and predicts its missing cells.
ColumnsAnswer fill_rows(const CellTable& table);

/// Returns an order of the rows that follows from their values, however they are sorted and whatever the order and the
/// units of columns.
std::vector<std::size_t> order_by_ranks(const CellTable& table);

}  // namespace npzoo
