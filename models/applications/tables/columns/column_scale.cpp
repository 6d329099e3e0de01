#include "npzoo/models/applications/tables/columns/column_scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "npzoo/datasets/normal_distribution.h"

namespace npzoo {

namespace {

constexpr double kBeyond = 3;  // scores: how far the straight lines behind both ends go

/// y at x on the line through points with ascending x; constant behind both ends.
double interpolate(const std::vector<double>& xs, const std::vector<double>& ys, double x) {
  if (x <= xs.front()) return ys.front();
  if (x >= xs.back()) return ys.back();
  const auto above = std::ranges::upper_bound(xs, x);
  const auto i = static_cast<std::size_t>(above - xs.begin());
  return ys[i - 1] + (ys[i] - ys[i - 1]) * (x - xs[i - 1]) / (xs[i] - xs[i - 1]);
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

}  // namespace

ColumnScale::ColumnScale(Kind kind, std::span<const double> values) {
  std::vector<double> sorted;
  std::ranges::copy_if(values, std::back_inserter(sorted), [](double v) { return !std::isnan(v); });
  if (sorted.empty()) return;
  std::ranges::sort(sorted);
  const auto n = static_cast<double>(sorted.size());
  const double largest = std::max(std::abs(sorted.front()), std::abs(sorted.back()));
  if (sorted.front() == sorted.back()) {
    centre_ = sorted.front();
    return;
  }
  double squares = 0, mean = 0;
  for (const double v : sorted) mean += v / largest / n;
  for (const double v : sorted) squares += (v / largest - mean) * (v / largest - mean) / n;
  centre_ = mean * largest;
  width_ = std::sqrt(squares) * largest;
  constexpr std::size_t kFewest = 3;  // different values of a column with scores
  if (kind == Kind::standard) return;
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin;
    while (end < sorted.size() && sorted[end] == sorted[begin]) ++end;
    values_.push_back(sorted[begin]);
    scores_.push_back(normal_quantile((static_cast<double>(begin + end) / 2) / n));
    begin = end;
  }
  const std::size_t different = values_.size();
  if (different < kFewest) {
    values_.clear();
    scores_.clear();
    return;
  }
  const std::size_t tail = std::max<std::size_t>(1, different / 10), last = different - 1;
  const double low = (values_[tail] - values_[0]) / (scores_[tail] - scores_[0]),
               high = (values_[last] - values_[last - tail]) / (scores_[last] - scores_[last - tail]);
  values_.insert(values_.begin(), values_[0] - kBeyond * low);
  scores_.insert(scores_.begin(), scores_[0] - kBeyond);
  values_.push_back(values_.back() + kBeyond * high);
  scores_.push_back(scores_.back() + kBeyond);
}

double ColumnScale::to(double value) const {
  if (std::isnan(value)) return value;
  return values_.empty() ? (value - centre_) / width_ : interpolate(values_, scores_, value);
}

double ColumnScale::back(double value) const {
  return values_.empty() ? centre_ + value * width_ : interpolate(scores_, values_, value);
}

CellGuess ColumnScale::to(const CellGuess& guess) const {
  const double low = to(guess.mean - guess.std), high = to(guess.mean + guess.std);
  return {(low + high) / 2, (high - low) / 2};
}

CellGuess ColumnScale::back(const CellGuess& guess) const {
  if (values_.empty()) return {back(guess.mean), guess.std * width_};
  // Gauss and Hermite's quadrature of the standard normal distribution with seven points
  constexpr std::array kNodes{0.0, 1.1544053947399682, 2.3667594107345415, 3.7504397177257425};
  constexpr std::array kWeights{0.4571428571428571, 0.24012317860501271, 0.030757123967586497, 0.00054826885597221792};
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < kNodes.size(); ++i)
    for (const double sign : {-1.0, 1.0}) {
      const double value = (back(guess.mean + sign * kNodes[i] * guess.std) - centre_) / width_,
                   weight = i == 0 ? kWeights[0] / 2 : kWeights[i];
      mean += weight * value;
      squares += weight * value * value;
    }
  return {centre_ + mean * width_, std::sqrt(std::max(0.0, squares - mean * mean)) * width_};
}

std::vector<ColumnScale> column_scales(ColumnScale::Kind kind, const CellTable& table) {
  std::vector<ColumnScale> scales;
  std::vector<double> values(table.rows);
  for (std::size_t c = 0; c < table.columns; ++c) {
    for (std::size_t row = 0; row < table.rows; ++row) values[row] = table(row, c);
    scales.emplace_back(kind, values);
  }
  return scales;
}

CellTable to_scale(const std::vector<ColumnScale>& scales, const CellTable& table) {
  CellTable scaled(table.rows, table.columns);
  for (std::size_t row = 0; row < table.rows; ++row)
    for (std::size_t c = 0; c < table.columns; ++c) scaled(row, c) = scales[c].to(table(row, c));
  return scaled;
}

CellFigures to_scale(const std::vector<ColumnScale>& scales, CellFigures figures) {
  return mapped(scales, std::move(figures), [](const ColumnScale& s, const CellGuess& g) { return s.to(g); });
}

CellFigures from_scale(const std::vector<ColumnScale>& scales, CellFigures figures) {
  return mapped(scales, std::move(figures), [](const ColumnScale& s, const CellGuess& g) { return s.back(g); });
}

}  // namespace npzoo
