#include "npzoo/models/applications/tables/columns/columns_together.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "npzoo/models/applications/tables/columns/column_decision.h"
#include "npzoo/models/applications/tables/columns/row_process.h"
#include "npzoo/models/applications/tables/columns/time_evidence.h"

namespace npzoo {

namespace {

constexpr const char* kColumnsAndInputs[] = {"columns and inputs", "columns and inputs on normal scores"};
constexpr const char* kRowsInTime[] = {"rows in time", "rows in time on normal scores"};
constexpr const char* kLeftToInputs[] = {"inputs on what columns leave", "inputs alone"};
constexpr const char* kWholeRows[] = {"each column by itself", "principal components of rows"};

std::vector<std::string> names_of_methods(std::span<const char* const> first, std::span<const char* const> then) {
  std::vector<std::string> names(first.begin(), first.end());
  names.insert(names.end(), then.begin(), then.end());
  return names;
}

/// Whether rows are predicted as a process in time. Other tables, such as maps, have what columns leave predicted.
bool follows_rows(const ColumnQuestion& q) { return q.ordered() && rows_can_be_followed(q.x.rows, q.x.columns); }

/// Rows without a known cell between rows with one.
class WholeRowsInside {
 public:
  explicit WholeRowsInside(const CellTable& x) : is_(x.rows) {
    std::size_t last = x.rows;
    for (std::size_t row = 0; row < x.rows; ++row) {
      bool known = false;
      for (std::size_t c = 0; c < x.columns; ++c) known = known || x.known(row, c);
      if (!known) continue;
      for (std::size_t inside = last + 1; inside < row; ++inside) is_[inside] = any_ = true;
      last = row;
    }
  }

  bool any() const { return any_; }
  bool is(std::size_t row) const { return is_[row]; }

 private:
  std::vector<bool> is_;
  bool any_ = false;
};

/// Predicts rows without a known cell, half from the components of rows.
void add_whole_rows(GapShares g, const ColumnCandidates& all, const WholeRowsInside& rows, ColumnsAnswer& answer) {
  if (!g.together) return;
  const std::vector<const CellFigures*> methods = all.of(GapKind::whole_row);
  for (std::size_t i = 0; i < answer.changed.size(); ++i) {
    if (!rows.is(i / all.alone.mean.columns)) continue;
    put_mixed(g.methods, methods, i, answer.figures);
    answer.changed[i] = true;
  }
  g.methods.shares.insert(g.methods.shares.begin(), answer.methods.size(), 0.0);
  answer.methods.insert(answer.methods.end(), std::begin(kWholeRows), std::end(kWholeRows));
  answer.gaps.push_back(std::move(g));
}

ColumnCandidates with_inputs(const ColumnQuestion& q, const CellTable& x, CellFigures alone,
                             const PredictAlone& predict) {
  const ColumnGaussian linear = fit_columns(x, q.ridge);
  ColumnCandidates all{.methods = {combine_with_time(linear, x, alone)}};
  const std::vector<ColumnScale> scales = column_scales(ColumnScale::Kind::scores, x);
  const CellTable scores = to_scale(scales, x);
  const ColumnGaussian of_scores = fit_columns(scores, q.ridge);
  const CellFigures combined = combine_with_time(of_scores, scores, to_scale(scales, alone));
  all.methods.push_back(from_scale(scales, combined));
  if (follows_rows(q)) {
    const auto in_time = [&](const ColumnGaussian& gaussian, const CellTable& cells, const CellFigures& completed) {
      return predict_from_rows(fit_row_process(gaussian, cells, q.times, completed), cells, q.times);
    };
    all.methods.push_back(in_time(linear, x, all.methods[0]));
    all.methods.push_back(from_scale(scales, in_time(of_scores, scores, combined)));
  } else {
    const ColumnRemainder left = remainder_of_columns(linear, x, all.methods[0]);
    all.methods.push_back(add_remainder(left, x, predict(left.remainder), alone));
    all.methods.push_back(alone);
  }
  if (q.whole_rows) {
    const PrincipalComponents components = principal_components(linear, x, all.methods[0]);
    all.components = components.to_columns(predict(components.values));
  }
  all.alone = std::move(alone);
  return all;
}

}  // namespace

/// Whether columns help cells of rows with known ones.
bool ColumnsAnswer::together() const {
  return std::ranges::any_of(gaps, [](const GapShares& g) { return g.together && g.kind != GapKind::whole_row; });
}

double ColumnsAnswer::gain() const {
  double alone = 0, together = 0;
  for (const ColumnGain& column : columns) {
    alone += static_cast<double>(column.hidden) * column.alone;
    together += static_cast<double>(column.hidden) * column.together;
  }
  return alone > 0 ? 1 - together / alone : 0;
}

ColumnsAnswer fill_columns(const CellTable& table, const CellFigures& alone, const PredictAlone& predict,
                           std::span<const double> times, std::size_t values, std::span<const std::size_t> ends) {
  const std::vector<ColumnScale> scales = column_scales(ColumnScale::Kind::standard, table);
  const CellTable x = to_scale(scales, table);
  const CellFigures alone_x = to_scale(scales, alone);
  const PredictAlone predict_x = [&](const CellTable& cells) {
    CellTable raw(cells.rows, cells.columns);
    for (std::size_t i = 0; i < cells.cells.size(); ++i)
      raw.cells[i] = scales[i % cells.columns].back(CellGuess{cells.cells[i], 0}).mean;
    return to_scale(scales, predict(raw));
  };
  const WholeRowsInside whole_rows(x);
  const ColumnQuestion q{x,   choose_ridge(rows_to_fit(x)), true, times, !times.empty() && whole_rows.any(), values,
                         ends};
  std::vector<GapKind> kinds = gap_kinds(x, q.ordered());
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (i % x.columns >= values) kinds[i] = GapKind::none;
  const ColumnCandidates all = with_inputs(q, x, alone_x, predict_x);
  const ColumnDecision decision(
      q, [&](const CellTable& cells) { return with_inputs(q, cells, predict_x(cells), predict_x); });
  ColumnsAnswer answer{.figures = alone_x,
                       .changed = std::vector<bool>(x.cells.size()),
                       .methods = follows_rows(q) ? names_of_methods(kColumnsAndInputs, kRowsInTime)
                                                  : names_of_methods(kColumnsAndInputs, kLeftToInputs),
                       .columns = std::vector<ColumnGain>(x.columns)};
  const std::vector<const CellFigures*> methods = all.of(GapKind::short_gap);
  for (const GapKind kind : kFilledGaps) {
    if (std::ranges::count(kinds, kind) == 0) continue;
    const GapShares& g = answer.gaps.emplace_back(decision.shares_of(kind));
    decision.add_gain(g, answer.columns);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] != kind || !g.together) continue;
      put_mixed(g.methods, methods, i, answer.figures);
      answer.changed[i] = true;
    }
  }
  if (q.whole_rows) add_whole_rows(decision.shares_of_whole_rows(), all, whole_rows, answer);
  finish_gains(answer.gaussian.emplace(fit_columns(x, q.ridge)), answer.columns);
  answer.figures = from_scale(scales, std::move(answer.figures));
  for (std::size_t i = 0; i < answer.changed.size(); ++i) {
    if (answer.changed[i]) continue;
    answer.figures.mean.cells[i] = alone.mean.cells[i];
    answer.figures.std.cells[i] = alone.std.cells[i];
  }
  return answer;
}

}  // namespace npzoo
