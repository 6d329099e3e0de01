#include "npzoo/models/applications/tables/columns/columns_together.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "npzoo/models/applications/tables/columns/time_evidence.h"

namespace npzoo {

namespace {

/// The Gaussian of a large table is fitted to some of its rows.
CellTable rows_to_fit(const CellTable& table) {
  constexpr std::size_t kMost = 4000;
  if (table.rows <= kMost) return table;
  CellTable some(kMost, table.columns);
  for (std::size_t i = 0; i < kMost; ++i)
    for (std::size_t c = 0; c < table.columns; ++c) some(i, c) = table(i * table.rows / kMost, c);
  return some;
}

constexpr std::size_t kManyColumns = 40;  // from here on fits end early, and a mixture has too few rows

ColumnGaussian fitted(const CellTable& table, double ridge) {
  const int iterations = table.columns > kManyColumns ? 12 : 40;
  return fit_column_gaussian(rows_to_fit(table), {.ridge = ridge, .iterations = iterations});
}

/// Predictions by several methods, on standardised columns.
using Candidates = std::function<std::vector<CellFigures>(const CellTable& cells)>;

std::vector<CellFigures> with_time(const CellTable& x, const CellFigures& alone, const PredictAlone& predict,
                                   double ridge) {
  const ColumnGaussian linear = fitted(x, ridge);
  std::vector<CellFigures> all{combine_with_time(linear, x, alone)};
  const std::vector<ColumnScale> scales = column_scales(ColumnScale::Kind::scores, x);
  const CellTable scores = to_scale(scales, x);
  all.push_back(from_scale(scales, combine_with_time(fitted(scores, ridge), scores, to_scale(scales, alone))));
  const ColumnRemainder left = remainder_of_columns(linear, x, all[0]);
  all.push_back(add_remainder(left, x, predict(left.remainder), alone));
  all.push_back(alone);
  return all;
}

/// Hidden cells of a kind of gap: what each method says of them, and what they are.
struct HiddenCells {
  std::vector<CellGuess> guesses{};  // (cells, methods)
  std::vector<double> values{};
  std::vector<std::size_t> columns{};
  std::vector<CellGuess> alone{};

  void append(const HiddenCells& other) {
    guesses.insert(guesses.end(), other.guesses.begin(), other.guesses.end());
    values.insert(values.end(), other.values.begin(), other.values.end());
    columns.insert(columns.end(), other.columns.begin(), other.columns.end());
    alone.insert(alone.end(), other.alone.begin(), other.alone.end());
  }
};

std::vector<CellGuess> guesses_of(const std::vector<CellFigures>& methods, std::size_t cell) {
  std::vector<CellGuess> guesses;
  for (const CellFigures& m : methods) guesses.push_back({m.mean.cells[cell], m.std.cells[cell]});
  return guesses;
}

double mean_of(std::span<const double> x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(std::max<std::size_t>(1, x.size()));
}

/// Whether scores are less than others of the same cells, by 2 % or more. Few cells have to agree, and by half.
bool is_clearly_less(std::span<const double> scores, std::span<const double> others) {
  constexpr double kClearly = 0.98, kFewClearly = 0.5, kStandardErrors = 4;
  constexpr std::size_t kMany = 15, kFewest = 8;
  const double ratio = mean_of(scores) / mean_of(others);
  if (scores.size() >= kMany) return ratio < kClearly;
  if (scores.size() < kFewest || !(ratio < kFewClearly)) return false;
  std::vector<double> gains;
  for (std::size_t i = 0; i < scores.size(); ++i) gains.push_back(others[i] - scores[i]);
  const double mean = mean_of(gains), n = static_cast<double>(gains.size());
  double squares = 0;
  for (const double gain : gains) squares += (gain - mean) * (gain - mean);
  return mean > kStandardErrors * std::sqrt(squares / (n * (n - 1)));
}

/// Shares of other columns in the expectation of one: by the squares of partial correlations.
std::vector<double> sources_of(const ColumnGaussian& gaussian, std::size_t column) {
  std::vector<double> shares(gaussian.columns());
  double sum = 0;
  for (std::size_t c = 0; c < shares.size(); ++c) {
    if (c == column) continue;
    shares[c] = std::pow(gaussian.precision_of(c, column), 2) / gaussian.precision_of(c, c);
    sum += shares[c];
  }
  for (double& share : shares) share = sum > 0 ? share / sum : 0;
  return shares;
}

/// Puts the average of the methods into a cell.
void put_mixed(const MethodShares& shares, const std::vector<CellFigures>& methods, std::size_t cell,
               CellFigures& figures) {
  const CellGuess mixed = shares.mix(guesses_of(methods, cell));
  figures.mean.cells[cell] = mixed.mean;
  figures.std.cells[cell] = mixed.std;
}

/// The question on standardised columns.
struct Standardised {
  CellTable x;
  bool ordered;
  double ridge;
};

class Decision {
 public:
  /// `alone_method`: of the methods, the one that keeps columns apart; without it the mean of the column does.
  Decision(const Standardised& question, const Candidates& candidates, std::optional<std::size_t> alone_method)
      : q_(question), alone_(alone_method) {
    const std::size_t folds = alone_ || q_.x.columns > kManyColumns ? 1 : kFoldsOfRows;
    for (std::size_t fold = 0; fold < folds; ++fold) look(cells_to_hide(q_.x, q_.ordered, fold), candidates);
  }

  GapShares shares_of(GapKind kind, std::size_t methods) const {
    constexpr std::size_t kFewest = 30;
    const HiddenCells cells = cells_for(kind, kFewest);
    GapShares g{
        .kind = kind, .methods = fit_shares(cells.guesses, cells.values, methods), .hidden = std::ssize(cells.values)};
    const MethodShares alone_width = fit_shares(cells.alone, cells.values, 1);  // a better width is no help of columns
    std::vector<double> together, apart;
    for (std::size_t i = 0; i < cells.values.size(); ++i) {
      const CellGuess mixed = g.methods.mix(std::span(cells.guesses).subspan(i * methods, methods)),
                      alone = alone_width.mix(std::span(cells.alone).subspan(i, 1));
      together.push_back(gaussian_crps(mixed, cells.values[i]));
      apart.push_back(gaussian_crps(alone, cells.values[i]));
    }
    g.together = !alone_ || is_clearly_less(together, apart);
    return g;
  }

  /// Adds the gains on cells of this kind of gap to the sums of each column.
  void add_gain(const GapShares& g, std::size_t methods, std::vector<ColumnGain>& columns) const {
    const HiddenCells& cells = hidden_[static_cast<std::size_t>(g.kind)];
    for (std::size_t i = 0; i < cells.values.size(); ++i) {
      ColumnGain& gain = columns[cells.columns[i]];
      const CellGuess mixed = g.methods.mix(std::span(cells.guesses).subspan(i * methods, methods));
      ++gain.hidden;
      gain.alone += gaussian_crps(cells.alone[i], cells.values[i]);
      gain.together += gaussian_crps(g.together ? mixed : cells.alone[i], cells.values[i]);
    }
  }

 private:
  static constexpr std::size_t kFoldsOfRows = 3;

  void look(const std::vector<bool>& hidden, const Candidates& candidates) {
    constexpr std::size_t kMost = 5000;  // cells that decide
    const auto all = static_cast<std::size_t>(std::ranges::count(hidden, true));
    if (all == 0) return;
    CellTable shown = q_.x;
    for (std::size_t i = 0; i < hidden.size(); ++i)
      if (hidden[i]) shown.cells[i] = std::numeric_limits<double>::quiet_NaN();
    const std::vector<CellFigures> methods = candidates(shown);
    const std::vector<GapKind> kinds = gap_kinds(shown, q_.ordered);
    const std::size_t stride = 1 + all / kMost;
    std::size_t count = 0;
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      if (!hidden[i] || count++ % stride != 0) continue;
      HiddenCells& cells = hidden_[static_cast<std::size_t>(kinds[i])];
      const std::vector<CellGuess> guesses = guesses_of(methods, i);
      cells.guesses.insert(cells.guesses.end(), guesses.begin(), guesses.end());
      cells.values.push_back(q_.x.cells[i]);
      cells.columns.push_back(i % q_.x.columns);
      cells.alone.push_back(alone_ ? guesses[*alone_] : CellGuess());
    }
  }

  /// Those of a kind of gap, or of all if they are few.
  HiddenCells cells_for(GapKind kind, std::size_t fewest) const {
    const HiddenCells& own = hidden_[static_cast<std::size_t>(kind)];
    if (own.values.size() >= fewest) return own;
    HiddenCells all;
    for (const GapKind other : kFilledGaps) all.append(hidden_[static_cast<std::size_t>(other)]);
    return all;
  }

  const Standardised& q_;
  std::optional<std::size_t> alone_;
  std::array<HiddenCells, 4> hidden_{};  // of each kind of gap
};

/// Turns sums of gains into means, and adds where they come from.
void finish_gains(const ColumnGaussian& gaussian, std::vector<ColumnGain>& gains) {
  for (std::size_t c = 0; c < gains.size(); ++c) {
    ColumnGain& gain = gains[c];
    if (gain.hidden > 0) {
      gain.alone /= static_cast<double>(gain.hidden);
      gain.together /= static_cast<double>(gain.hidden);
    }
    gain.from = sources_of(gaussian, c);
  }
}

}  // namespace

bool ColumnsAnswer::together() const { return std::ranges::any_of(gaps, &GapShares::together); }

double ColumnsAnswer::gain() const {
  double alone = 0, together = 0;
  for (const ColumnGain& column : columns) {
    alone += static_cast<double>(column.hidden) * column.alone;
    together += static_cast<double>(column.hidden) * column.together;
  }
  return alone > 0 ? 1 - together / alone : 0;
}

ColumnsAnswer fill_columns(const CellTable& table, const CellFigures& alone, const PredictAlone& predict,
                           bool ordered) {
  const std::vector<ColumnScale> scales = column_scales(ColumnScale::Kind::standard, table);
  const CellTable x = to_scale(scales, table);
  const CellFigures alone_x = to_scale(scales, alone);
  const PredictAlone predict_x = [&](const CellTable& cells) {
    CellTable raw(cells.rows, cells.columns);
    for (std::size_t i = 0; i < cells.cells.size(); ++i)
      raw.cells[i] = scales[i % cells.columns].back(CellGuess{cells.cells[i], 0}).mean;
    return to_scale(scales, predict(raw));
  };
  const Standardised q{x, ordered, choose_ridge(rows_to_fit(x))};
  const std::vector<GapKind> kinds = gap_kinds(x, ordered);
  const auto candidates = [&](const CellTable& cells, const CellFigures& of_alone) {
    return with_time(cells, of_alone, predict_x, q.ridge);
  };
  constexpr std::size_t kMethods = std::size(kMethodsWithTime), kAlone = kMethods - 1;
  const std::vector<CellFigures> methods = candidates(x, alone_x);
  const Decision decision(
      q, [&](const CellTable& cells) { return candidates(cells, predict_x(cells)); }, kAlone);
  ColumnsAnswer answer{.figures = methods[kAlone],
                       .changed = std::vector<bool>(x.cells.size()),
                       .columns = std::vector<ColumnGain>(x.columns)};
  for (const GapKind kind : kFilledGaps) {
    if (std::ranges::count(kinds, kind) == 0) continue;
    const GapShares& g = answer.gaps.emplace_back(decision.shares_of(kind, kMethods));
    decision.add_gain(g, kMethods, answer.columns);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] != kind || !g.together) continue;
      put_mixed(g.methods, methods, i, answer.figures);
      answer.changed[i] = true;
    }
  }
  finish_gains(answer.gaussian.emplace(fitted(x, q.ridge)), answer.columns);
  answer.figures = from_scale(scales, std::move(answer.figures));
  for (std::size_t i = 0; i < answer.changed.size(); ++i) {
    if (answer.changed[i]) continue;
    answer.figures.mean.cells[i] = alone.mean.cells[i];
    answer.figures.std.cells[i] = alone.std.cells[i];
  }
  return answer;
}

std::vector<RowModel::OneScale> RowModel::fit(const CellTable& x, double ridge) {
  std::vector<OneScale> all;
  for (const ColumnScale::Kind kind : {ColumnScale::Kind::standard, ColumnScale::Kind::scores}) {
    std::vector<ColumnScale> scales = column_scales(kind, x);
    const CellTable scaled = to_scale(scales, x);
    OneScale& one = all.emplace_back(OneScale{std::move(scales), fitted(scaled, ridge), std::nullopt});
    if (x.columns <= kManyColumns) one.mixture = fit_column_mixture(one.gaussian, rows_to_fit(scaled));
  }
  return all;
}

/// By kMethodsOfRows.
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
  const Standardised some{rows_to_fit(x), false, ridge};
  const Decision decision(
      some, [&](const CellTable& cells) { return predict(fit(cells, ridge), cells); }, std::nullopt);
  const std::size_t methods = fitted_[0].mixture ? 2 * fitted_.size() : fitted_.size();
  shares_ = decision.shares_of(GapKind::short_gap, methods);
  gains_.resize(x.columns);
  decision.add_gain(shares_, methods, gains_);
  finish_gains(fitted_[0].gaussian, gains_);
}

CellFigures RowModel::predict(const CellTable& rows) const {
  const CellTable x = to_scale(scales_, rows);
  const std::vector<CellFigures> methods = predict(fitted_, x);
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
