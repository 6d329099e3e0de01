#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "npzoo/models/applications/tables/columns/column_decision.h"

namespace npzoo {

namespace {

constexpr const char* kRowsAlone[] = {"columns", "columns on normal scores", "mixture", "mixture on normal scores"};

}  // namespace

std::vector<RowModel::OneScale> RowModel::fit(const CellTable& x, double ridge) {
  std::vector<OneScale> all;
  for (const ColumnScale::Kind kind : {ColumnScale::Kind::standard, ColumnScale::Kind::scores}) {
    std::vector<ColumnScale> scales = column_scales(kind, x);
    const CellTable scaled = to_scale(scales, x);
    OneScale& one = all.emplace_back(OneScale{std::move(scales), fit_columns(scaled, ridge), std::nullopt});
    if (x.columns <= kManyColumns) one.mixture = fit_column_mixture(one.gaussian, rows_to_fit(scaled));
  }
  return all;
}

/// By kRowsAlone.
std::vector<CellFigures> RowModel::predict(const std::vector<OneScale>& fitted, const CellTable& x) {
  std::vector<CellFigures> all, mixtures;
  for (const OneScale& one : fitted) {
    const CellTable scaled = to_scale(one.scales, x);
    all.push_back(from_scale(one.scales, predict_from_columns(one.gaussian, scaled)));
    if (one.mixture) mixtures.push_back(from_scale(one.scales, predict_from_mixture(*one.mixture, scaled)));
  }
  all.insert(all.end(), mixtures.begin(), mixtures.end());
  return all;
}

RowModel::RowModel(const CellTable& table) {
  const std::vector<std::size_t> order = order_by_ranks(table);
  CellTable x(table.rows, table.columns);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t c = 0; c < table.columns; ++c) x(i, c) = table(order[i], c);
  scales_ = column_scales(ColumnScale::Kind::standard, x);
  x = to_scale(scales_, x);
  const double ridge = choose_ridge(rows_to_fit(x));
  fitted_ = fit(x, ridge);
  const ColumnQuestion some{rows_to_fit(x), ridge, false};
  const ColumnDecision decision(some, [&](const CellTable& cells) {
    ColumnCandidates all{.methods = predict(fit(cells, ridge), cells), .alone = CellFigures(cells.rows, cells.columns)};
    std::ranges::fill(all.alone.std.cells, 1.0);
    return all;
  });
  shares_ = decision.shares_of(GapKind::short_gap);
  gains_.resize(x.columns);
  decision.add_gain(shares_, gains_);
  finish_gains(fitted_[0].gaussian, gains_);
}

std::vector<std::string> RowModel::methods() const { return {kRowsAlone, kRowsAlone + shares_.methods.shares.size()}; }

CellFigures RowModel::predict(const CellTable& rows) const {
  const CellTable x = to_scale(scales_, rows);
  const ColumnCandidates candidates{.methods = predict(fitted_, x)};
  const std::vector<const CellFigures*> methods = candidates.of(GapKind::short_gap);
  const std::vector<GapKind> kinds = gap_kinds(x, false);
  CellFigures figures(x.rows, x.columns);
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i] == GapKind::whole_row)
      figures.std.cells[i] = 1;
    else if (kinds[i] != GapKind::none)
      put_mixed(shares_.methods, methods, i, figures);
  return from_scale(scales_, std::move(figures));
}

ColumnsAnswer fill_rows(const CellTable& table) {
  const RowModel model(table);
  ColumnsAnswer answer{.figures = model.predict(table),
                       .changed = std::vector<bool>(table.cells.size()),
                       .methods = model.methods(),
                       .columns = model.gains(),
                       .gaussian = model.gaussian()};
  for (std::size_t i = 0; i < table.cells.size(); ++i) answer.changed[i] = std::isnan(table.cells[i]);
  if (std::ranges::count(gap_kinds(table, false), GapKind::short_gap) > 0) answer.gaps.push_back(model.shares());
  return answer;
}

std::vector<std::size_t> order_by_ranks(const CellTable& table) {
  std::vector<std::uint64_t> keys(table.rows);
  std::vector<double> sorted;
  for (std::size_t c = 0; c < table.columns; ++c) {
    sorted.clear();
    for (std::size_t row = 0; row < table.rows; ++row)
      if (table.known(row, c)) sorted.push_back(table(row, c));
    std::ranges::sort(sorted);
    for (std::size_t row = 0; row < table.rows; ++row) {
      if (!table.known(row, c)) continue;
      auto key = static_cast<std::uint64_t>(std::ranges::lower_bound(sorted, table(row, c)) - sorted.begin()) + 1;
      key *= 0x9e3779b97f4a7c15;  // mixes bits, so that sums of ranks tell rows apart (SplitMix64)
      key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9;
      key = (key ^ (key >> 27)) * 0x94d049bb133111eb;
      keys[row] += key ^ (key >> 31);
    }
  }
  std::vector<std::size_t> order(table.rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return keys[row]; });
  return order;
}

}  // namespace npzoo
