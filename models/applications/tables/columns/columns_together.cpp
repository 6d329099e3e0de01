#include "npzoo/models/applications/tables/columns/columns_together.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "npzoo/models/applications/tables/columns/column_mixture.h"
#include "npzoo/models/applications/tables/columns/column_scale.h"
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

/// Maps all cells by `map(scale of the column, guess)`.
CellFigures mapped(const std::vector<ColumnScale>& scales, CellFigures figures, const auto& map) {
  for (std::size_t i = 0; i < figures.mean.cells.size(); ++i) {
    const CellGuess guess = map(scales[i % scales.size()], CellGuess{figures.mean.cells[i], figures.std.cells[i]});
    figures.mean.cells[i] = guess.mean;
    figures.std.cells[i] = guess.std;
  }
  return figures;
}

CellFigures back(const std::vector<ColumnScale>& scales, CellFigures figures) {
  return mapped(scales, std::move(figures), [](const ColumnScale& s, const CellGuess& g) { return s.back(g); });
}

CellFigures to(const std::vector<ColumnScale>& scales, CellFigures figures) {
  return mapped(scales, std::move(figures), [](const ColumnScale& s, const CellGuess& g) { return s.to(g); });
}

/// Predictions by several methods, on standardised columns.
using Candidates = std::function<std::vector<CellFigures>(const CellTable& cells)>;

std::vector<CellFigures> with_time(const CellTable& x, const CellFigures& alone, const PredictAlone& predict,
                                   double ridge) {
  const ColumnGaussian linear = fitted(x, ridge);
  std::vector<CellFigures> all{combine_with_time(linear, x, alone)};
  const std::vector<ColumnScale> scales = column_scales(ColumnScale::Kind::scores, x);
  const CellTable scores = to_scale(scales, x);
  all.push_back(back(scales, combine_with_time(fitted(scores, ridge), scores, to(scales, alone))));
  const ColumnRemainder left = remainder_of_columns(linear, x, all[0]);
  all.push_back(add_remainder(left, x, predict(left.remainder), alone));
  all.push_back(alone);
  return all;
}

std::vector<CellFigures> of_rows(const CellTable& x, double ridge) {
  std::vector<CellFigures> all, mixtures;
  for (const ColumnScale::Kind kind : {ColumnScale::Kind::standard, ColumnScale::Kind::scores}) {
    const std::vector<ColumnScale> scales = column_scales(kind, x);
    const CellTable scaled = to_scale(scales, x);
    const ColumnGaussian common = fitted(scaled, ridge);
    all.push_back(back(scales, predict_from_columns(common, scaled)));
    if (x.columns > kManyColumns) continue;
    const ColumnMixture mixture = fit_column_mixture(common, rows_to_fit(scaled));
    mixtures.push_back(back(scales, predict_from_mixture(mixture, scaled)));
  }
  all.insert(all.end(), mixtures.begin(), mixtures.end());
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

double mean_crps(const HiddenCells& cells, const auto& guess) {
  double sum = 0;
  for (std::size_t i = 0; i < cells.values.size(); ++i) sum += gaussian_crps(guess(i), cells.values[i]);
  return sum / static_cast<double>(std::max<std::size_t>(1, cells.values.size()));
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

/// The question on standardised columns.
struct Standardised {
  CellTable x;
  std::vector<GapKind> kinds;
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
    constexpr std::size_t kFewest = 30, kFewestToJoin = 15;
    constexpr double kClearly = 0.98;  // CRPS on hidden cells
    const HiddenCells cells = cells_for(kind, kFewest);
    GapShares g{
        .kind = kind, .methods = fit_shares(cells.guesses, cells.values, methods), .hidden = std::ssize(cells.values)};
    const double together = mean_crps(
        cells, [&](std::size_t i) { return g.methods.mix(std::span(cells.guesses).subspan(i * methods, methods)); });
    const MethodShares alone_width = fit_shares(cells.alone, cells.values, 1);  // a better width is no help of columns
    const double apart =
        mean_crps(cells, [&](std::size_t i) { return alone_width.mix(std::span(cells.alone).subspan(i, 1)); });
    g.together = !alone_ || (cells.values.size() >= kFewestToJoin && together < kClearly * apart);
    return g;
  }

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

ColumnsAnswer decide(const Standardised& q, const std::vector<ColumnScale>& scales, const Candidates& candidates,
                     std::optional<std::size_t> alone_method) {
  const std::vector<CellFigures> methods = candidates(q.x);
  const Standardised some{alone_method ? q.x : rows_to_fit(q.x), {}, q.ordered, q.ridge};
  const Decision decision(some, candidates, alone_method);
  ColumnsAnswer answer{.figures = alone_method ? methods[*alone_method] : CellFigures(q.x.rows, q.x.columns),
                       .changed = std::vector<bool>(q.x.cells.size()),
                       .columns = std::vector<ColumnGain>(q.x.columns)};
  for (const GapKind kind : kFilledGaps) {
    if (std::ranges::count(q.kinds, kind) == 0) continue;
    const GapShares& g = answer.gaps.emplace_back(decision.shares_of(kind, methods.size()));
    decision.add_gain(g, methods.size(), answer.columns);
    for (std::size_t i = 0; i < q.kinds.size(); ++i) {
      if (q.kinds[i] != kind || !g.together) continue;
      const CellGuess mixed = g.methods.mix(guesses_of(methods, i));
      answer.figures.mean.cells[i] = mixed.mean;
      answer.figures.std.cells[i] = mixed.std;
      answer.changed[i] = true;
    }
  }
  for (std::size_t i = 0; i < q.kinds.size(); ++i)
    if (q.kinds[i] == GapKind::whole_row && !alone_method) {
      answer.figures.std.cells[i] = 1;
      answer.changed[i] = true;
    }
  const ColumnGaussian gaussian = fitted(q.x, q.ridge);
  for (std::size_t c = 0; c < q.x.columns; ++c) {
    ColumnGain& gain = answer.columns[c];
    if (gain.hidden > 0) {
      gain.alone /= static_cast<double>(gain.hidden);
      gain.together /= static_cast<double>(gain.hidden);
    }
    gain.from = sources_of(gaussian, c);
  }
  answer.figures = back(scales, std::move(answer.figures));
  return answer;
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
  const CellFigures alone_x = to(scales, alone);
  const PredictAlone predict_x = [&](const CellTable& cells) {
    CellTable raw(cells.rows, cells.columns);
    for (std::size_t i = 0; i < cells.cells.size(); ++i)
      raw.cells[i] = scales[i % cells.columns].back(CellGuess{cells.cells[i], 0}).mean;
    return to(scales, predict(raw));
  };
  const Standardised q{x, gap_kinds(x, ordered), ordered, choose_ridge(rows_to_fit(x))};
  bool first = true;
  const Candidates candidates = [&](const CellTable& cells) {
    const bool own = std::exchange(first, false);
    return with_time(cells, own ? alone_x : predict_x(cells), predict_x, q.ridge);
  };
  constexpr std::size_t kAlone = std::size(kMethodsWithTime) - 1;
  ColumnsAnswer answer = decide(q, scales, candidates, kAlone);
  for (std::size_t i = 0; i < answer.changed.size(); ++i) {
    if (answer.changed[i]) continue;
    answer.figures.mean.cells[i] = alone.mean.cells[i];
    answer.figures.std.cells[i] = alone.std.cells[i];
  }
  return answer;
}

ColumnsAnswer fill_rows(const CellTable& table) {
  const std::vector<std::size_t> order = order_by_ranks(table);
  CellTable sorted(table.rows, table.columns);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t c = 0; c < table.columns; ++c) sorted(i, c) = table(order[i], c);
  const std::vector<ColumnScale> scales = column_scales(ColumnScale::Kind::standard, sorted);
  const CellTable x = to_scale(scales, sorted);
  const Standardised q{x, gap_kinds(x, false), false, choose_ridge(rows_to_fit(x))};
  ColumnsAnswer answer = decide(
      q, scales, [&](const CellTable& cells) { return of_rows(cells, q.ridge); }, std::nullopt);
  ColumnsAnswer back = answer;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t c = 0; c < table.columns; ++c) {
      back.figures.mean(order[i], c) = answer.figures.mean(i, c);
      back.figures.std(order[i], c) = answer.figures.std(i, c);
      back.changed[order[i] * table.columns + c] = answer.changed[i * table.columns + c];
    }
  return back;
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
