#include "npzoo/models/applications/tables/columns/column_mixture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "npzoo/engine/cancellation.h"

namespace npzoo {

namespace {

constexpr std::size_t kParts = ColumnMixture::kParts;
using Shares = std::vector<std::array<double, kParts>>;  // of each row

std::span<const double> row_at(const CellTable& table, std::size_t row) {
  return std::span(table.cells).subspan(row * table.columns, table.columns);
}

/// The direction of the largest variance of rows with mean 0, by powers of their covariance.
std::vector<double> main_direction(const ColumnGaussian& g) {
  constexpr int kSteps = 50;
  const std::size_t columns = g.columns();
  std::size_t first = 0;  // a column that correlates with the most others
  std::vector<double> sums(columns);
  for (std::size_t a = 0; a < columns; ++a)
    for (std::size_t b = 0; b < columns; ++b) sums[a] += std::pow(g.covariance_of(a, b), 2);
  first = static_cast<std::size_t>(std::ranges::max_element(sums) - sums.begin());
  std::vector<double> direction(columns), next(columns);
  direction[first] = 1;
  for (int i = 0; i < kSteps; ++i) {
    double length = 0;
    for (std::size_t a = 0; a < columns; ++a) {
      next[a] = 0;
      for (std::size_t b = 0; b < columns; ++b) next[a] += g.covariance_of(a, b) * direction[b];
      length += next[a] * next[a];
    }
    for (std::size_t a = 0; a < columns; ++a) direction[a] = next[a] / std::sqrt(length);
  }
  return direction;
}

/// Splits filled rows into groups: equal parts along the direction of the largest variance, then Lloyd's algorithm.
std::vector<std::size_t> group_rows(const ColumnGaussian& common, const CellTable& filled) {
  constexpr int kRounds = 30;
  const std::size_t n = filled.rows, columns = filled.columns;
  const std::vector<double> direction = main_direction(common);
  std::vector<double> along(n);
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t c = 0; c < columns; ++c) along[row] += direction[c] * filled(row, c);
  std::vector<std::size_t> order(n), group(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return along[row]; });
  for (std::size_t rank = 0; rank < n; ++rank) group[order[rank]] = rank * kParts / n;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> centres(kParts * columns);
    std::array<double, kParts> sizes{};
    for (std::size_t row = 0; row < n; ++row) {
      ++sizes[group[row]];
      for (std::size_t c = 0; c < columns; ++c) centres[group[row] * columns + c] += filled(row, c);
    }
    for (std::size_t k = 0; k < kParts; ++k)
      for (std::size_t c = 0; c < columns; ++c) centres[k * columns + c] /= std::max(1.0, sizes[k]);
    bool moved = false;
    for (std::size_t row = 0; row < n; ++row) {
      std::array<double, kParts> distance{};
      for (std::size_t k = 0; k < kParts; ++k)
        for (std::size_t c = 0; c < columns; ++c) distance[k] += std::pow(filled(row, c) - centres[k * columns + c], 2);
      const auto nearest = static_cast<std::size_t>(std::ranges::min_element(distance) - distance.begin());
      moved = moved || nearest != group[row];
      group[row] = nearest;
    }
    if (!moved) break;
  }
  return group;
}

/// Sums of a part of the mixture, about the mean of the common Gaussian.
struct PartSums {
  double rows = 0;
  std::vector<double> values, squares;

  explicit PartSums(std::size_t columns) : values(columns), squares(columns * columns) {}

  void add(double share, std::span<const double> about, const GivenKnownCells& given, const RowPattern& pattern) {
    const std::size_t columns = values.size(), missing = pattern.missing.size();
    rows += share;
    for (std::size_t i = 0; i < columns; ++i) {
      values[i] += share * about[i];
      for (std::size_t j = 0; j <= i; ++j) squares[i * columns + j] += share * about[i] * about[j];
    }
    for (std::size_t i = 0; i < missing; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        squares[pattern.missing[i] * columns + pattern.missing[j]] += share * given.covariance()[i * missing + j];
  }

  /// The part, shrunk towards the common Gaussian.
  ColumnGaussian part(const ColumnGaussian& common) const {
    constexpr double kRowsOfMean = 5, kRowsPerColumn = 2;
    const std::size_t columns = values.size();
    const double pull = kRowsPerColumn * static_cast<double>(columns);
    std::vector<double> shift(columns), mean(columns), covariance(columns * columns);
    for (std::size_t i = 0; i < columns; ++i) {
      shift[i] = values[i] / (rows + kRowsOfMean);
      mean[i] = common.mean[i] + shift[i];
    }
    for (std::size_t i = 0; i < columns; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        const double about =
            squares[i * columns + j] - shift[i] * values[j] - values[i] * shift[j] + rows * shift[i] * shift[j];
        covariance[i * columns + j] = covariance[j * columns + i] =
            (about + pull * common.covariance_of(i, j)) / (rows + pull);
      }
    return {std::move(mean), std::move(covariance)};
  }
};

/// The next parts, given shares of rows; missing cells by the last parts.
ColumnMixture next_parts(const ColumnGaussian& common, const CellTable& table, const std::vector<RowPattern>& patterns,
                         const ColumnMixture& last, const Shares& shares) {
  ColumnMixture next;
  std::vector<double> deviations(table.columns);
  for (std::size_t k = 0; k < kParts; ++k) {
    const ColumnGaussian& part = last.parts[k];
    PartSums sums(table.columns);
    for (const RowPattern& pattern : patterns) {
      const GivenKnownCells given(part, pattern);
      for (const std::uint32_t row : pattern.rows) {
        given.deviations(row_at(table, row), deviations);
        for (std::size_t c = 0; c < deviations.size(); ++c) deviations[c] += part.mean[c] - common.mean[c];
        sums.add(shares[row][k], deviations, given, pattern);
      }
    }
    next.weights[k] = (sums.rows + 1) / static_cast<double>(table.rows + kParts);
    next.parts.push_back(sums.part(common));
  }
  return next;
}

/// Shares of each row by its known cells.
Shares shares_of(const CellTable& table, const std::vector<RowPattern>& patterns, const ColumnMixture& mixture) {
  Shares shares(table.rows);
  std::vector<double> deviations(table.columns);
  for (const RowPattern& pattern : patterns) {
    std::vector<GivenKnownCells> given;
    for (const ColumnGaussian& part : mixture.parts) given.emplace_back(part, pattern);
    for (const std::uint32_t row : pattern.rows) {
      std::array<double, kParts> logs{};
      for (std::size_t k = 0; k < kParts; ++k) {
        given[k].deviations(row_at(table, row), deviations);
        logs[k] = std::log(mixture.weights[k]) + given[k].log_density(deviations);
      }
      const double most = *std::ranges::max_element(logs);
      double sum = 0;
      for (double& l : logs) sum += l = std::exp(l - most);
      for (std::size_t k = 0; k < kParts; ++k) shares[row][k] = logs[k] / sum;
    }
  }
  return shares;
}

double largest_change(const Shares& a, const Shares& b) {
  double change = 0;
  for (std::size_t row = 0; row < a.size(); ++row)
    for (std::size_t k = 0; k < kParts; ++k) change = std::max(change, std::abs(a[row][k] - b[row][k]));
  return change;
}

}  // namespace

ColumnMixture fit_column_mixture(const ColumnGaussian& common, const CellTable& table) {
  constexpr int kSteps = 25;
  constexpr double kSettled = 1e-2, kSure = 0.9;
  const std::vector<RowPattern> patterns = row_patterns(table);
  CellTable filled = predict_from_columns(common, table).mean;
  for (std::size_t i = 0; i < filled.cells.size(); ++i)
    if (!std::isnan(table.cells[i])) filled.cells[i] = table.cells[i];
  const std::vector<std::size_t> group = group_rows(common, filled);
  Shares shares(table.rows);
  for (std::size_t row = 0; row < table.rows; ++row) {
    shares[row].fill((1 - kSure) / kParts);
    shares[row][group[row]] += kSure;
  }
  ColumnMixture mixture{.parts = std::vector<ColumnGaussian>(kParts, common)};
  for (int i = 0; i < kSteps; ++i) {
    throw_if_stopped();
    mixture = next_parts(common, table, patterns, mixture, shares);
    Shares next = shares_of(table, patterns, mixture);
    const double change = largest_change(shares, next);
    shares = std::move(next);
    if (change < kSettled) break;
  }
  return mixture;
}

CellFigures predict_from_mixture(const ColumnMixture& mixture, const CellTable& table) {
  constexpr double kLeast = 1e-9;  // variance
  const Shares shares = shares_of(table, row_patterns(table), mixture);
  CellFigures figures(table.rows, table.columns);  // first the mean of squares as `std`
  for (std::size_t k = 0; k < kParts; ++k) {
    const CellFigures part = predict_from_columns(mixture.parts[k], table);
    for (std::size_t row = 0; row < table.rows; ++row)
      for (std::size_t c = 0; c < table.columns; ++c) {
        const double mean = part.mean(row, c), std = part.std(row, c);
        figures.mean(row, c) += shares[row][k] * mean;
        figures.std(row, c) += shares[row][k] * (std * std + mean * mean);
      }
  }
  for (std::size_t i = 0; i < figures.std.cells.size(); ++i) {
    double& std = figures.std.cells[i];
    std = std::sqrt(std::max(kLeast, std - figures.mean.cells[i] * figures.mean.cells[i]));
  }
  return figures;
}

}  // namespace npzoo
