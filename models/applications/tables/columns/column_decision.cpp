#include "npzoo/models/applications/tables/columns/column_decision.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace npzoo {

namespace {

std::vector<CellGuess> guesses_of(std::span<const CellFigures* const> methods, std::size_t cell) {
  std::vector<CellGuess> guesses;
  for (const CellFigures* m : methods) guesses.push_back({m->mean.cells[cell], m->std.cells[cell]});
  return guesses;
}

double mean_of(std::span<const double> x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(std::max<std::size_t>(1, x.size()));
}

/// Whether scores are less than others of the same cells, by 2 % or more. At ends, which are at the same times and err
/// alike, by a fifth. Few cells have to agree, and by half.
bool is_clearly_less(std::span<const double> scores, std::span<const double> others, bool ends) {
  constexpr double kFewClearly = 0.5, kStandardErrors = 4;
  const double clearly = ends ? 0.8 : 0.98;
  constexpr std::size_t kMany = 15, kFewest = 8;
  const double ratio = mean_of(scores) / mean_of(others);
  if (scores.size() >= kMany) return ratio < clearly;
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

}  // namespace

CellTable rows_to_fit(const CellTable& table) {
  constexpr std::size_t kMost = 4000;
  if (table.rows <= kMost) return table;
  CellTable some(kMost, table.columns);
  for (std::size_t i = 0; i < kMost; ++i)
    for (std::size_t c = 0; c < table.columns; ++c) some(i, c) = table(i * table.rows / kMost, c);
  return some;
}

ColumnGaussian fit_columns(const CellTable& table, double ridge) {
  const int iterations = table.columns > kManyColumns ? 12 : 40;
  return fit_column_gaussian(rows_to_fit(table), {.ridge = ridge, .iterations = iterations});
}

std::vector<const CellFigures*> ColumnCandidates::of(GapKind kind) const {
  if (kind == GapKind::whole_row && components) return {&alone, &*components};
  std::vector<const CellFigures*> all;
  for (const CellFigures& method : methods) all.push_back(&method);
  return all;
}

void put_mixed(const MethodShares& shares, std::span<const CellFigures* const> methods, std::size_t cell,
               CellFigures& figures) {
  const CellGuess mixed = shares.mix(guesses_of(methods, cell));
  figures.mean.cells[cell] = mixed.mean;
  figures.std.cells[cell] = mixed.std;
}

void ColumnDecision::HiddenCells::append(const HiddenCells& other) {
  guesses.insert(guesses.end(), other.guesses.begin(), other.guesses.end());
  values.insert(values.end(), other.values.begin(), other.values.end());
  columns.insert(columns.end(), other.columns.begin(), other.columns.end());
  alone.insert(alone.end(), other.alone.begin(), other.alone.end());
}

ColumnDecision::ColumnDecision(const ColumnQuestion& question, const FindCandidates& find) : q_(question) {
  constexpr std::size_t kFoldsOfRows = 3;
  const std::size_t folds = q_.with_inputs || q_.x.columns > kManyColumns ? 1 : kFoldsOfRows;
  for (std::size_t fold = 0; fold < folds; ++fold) look(cells_to_hide(q_.x, q_.ordered(), fold, q_.ends), find);
}

GapShares ColumnDecision::shares_of(GapKind kind) const {
  constexpr std::size_t kFewest = 30;
  const HiddenCells cells = cells_for(kind, kFewest);
  GapShares g{
      .kind = kind, .methods = fit_shares(cells.guesses, cells.values, methods_), .hidden = std::ssize(cells.values)};
  const MethodShares alone_width = fit_shares(cells.alone, cells.values, 1);  // a better width is no help of columns
  std::vector<double> together, apart;
  for (std::size_t i = 0; i < cells.values.size(); ++i) {
    const CellGuess mixed = g.methods.mix(cells.of(i)), alone = alone_width.mix(std::span(cells.alone).subspan(i, 1));
    together.push_back(gaussian_crps(mixed, cells.values[i]));
    apart.push_back(gaussian_crps(alone, cells.values[i]));
  }
  g.together = !q_.with_inputs || is_clearly_less(together, apart, kind == GapKind::end);
  return g;
}

GapShares ColumnDecision::shares_of_whole_rows() const {
  constexpr double kWorse = 1.02;
  constexpr std::size_t kFewest = 15;
  const HiddenCells& cells = hidden_[static_cast<std::size_t>(GapKind::whole_row)];
  GapShares g{.kind = GapKind::whole_row, .methods = MethodShares::equal(2), .hidden = std::ssize(cells.values)};
  if (cells.methods() != 2) return g;
  double together = 0, apart = 0;
  for (std::size_t i = 0; i < cells.values.size(); ++i) {
    together += gaussian_crps(g.methods.mix(cells.of(i)), cells.values[i]);
    apart += gaussian_crps(cells.alone[i], cells.values[i]);
  }
  g.together = cells.values.size() >= kFewest && together < kWorse * apart;
  return g;
}

void ColumnDecision::add_gain(const GapShares& g, std::vector<ColumnGain>& columns) const {
  const HiddenCells& cells = hidden_[static_cast<std::size_t>(g.kind)];
  for (std::size_t i = 0; i < cells.values.size(); ++i) {
    ColumnGain& gain = columns[cells.columns[i]];
    const CellGuess mixed = g.methods.mix(cells.of(i));
    ++gain.hidden;
    gain.alone += gaussian_crps(cells.alone[i], cells.values[i]);
    gain.together += gaussian_crps(g.together ? mixed : cells.alone[i], cells.values[i]);
  }
}

void ColumnDecision::look(const std::vector<bool>& hidden, const FindCandidates& find) {
  constexpr std::size_t kMost = 5000;  // cells that decide
  std::size_t all = 0;
  for (std::size_t i = 0; i < hidden.size(); ++i) all += hidden[i] && decides(i);
  if (all == 0) return;
  CellTable shown = q_.x;
  for (std::size_t i = 0; i < hidden.size(); ++i)
    if (hidden[i]) shown.cells[i] = std::numeric_limits<double>::quiet_NaN();
  const ColumnCandidates candidates = find(shown);
  methods_ = candidates.methods.size();
  const std::vector<GapKind> kinds = gap_kinds(shown, q_.ordered());
  const std::size_t stride = 1 + all / kMost;
  std::size_t count = 0;
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    if (!hidden[i] || !decides(i) || count++ % stride != 0) continue;
    HiddenCells& cells = hidden_[static_cast<std::size_t>(kinds[i])];
    const std::vector<CellGuess> guesses = guesses_of(candidates.of(kinds[i]), i);
    cells.guesses.insert(cells.guesses.end(), guesses.begin(), guesses.end());
    cells.values.push_back(q_.x.cells[i]);
    cells.columns.push_back(i % q_.x.columns);
    cells.alone.push_back({candidates.alone.mean.cells[i], candidates.alone.std.cells[i]});
  }
}

/// Those of a kind of gap, or of all if they are few.
ColumnDecision::HiddenCells ColumnDecision::cells_for(GapKind kind, std::size_t fewest) const {
  const HiddenCells& own = hidden_[static_cast<std::size_t>(kind)];
  if (own.values.size() >= fewest) return own;
  HiddenCells all;
  for (const GapKind other : kFilledGaps) all.append(hidden_[static_cast<std::size_t>(other)]);
  return all;
}

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

}  // namespace npzoo
