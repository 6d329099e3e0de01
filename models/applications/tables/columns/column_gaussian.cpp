#include "npzoo/models/applications/tables/columns/column_gaussian.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/tables/columns/symmetric_inverse.h"

namespace npzoo {

ColumnGaussian::ColumnGaussian(std::vector<double> mean_of_columns, std::vector<double> covariance_of_columns)
    : mean(std::move(mean_of_columns)), covariance(std::move(covariance_of_columns)), precision(covariance) {
  log_det = invert_symmetric(precision, mean.size());
}

ColumnGaussian ColumnGaussian::standard(std::size_t columns) {
  std::vector<double> identity(columns * columns);
  for (std::size_t c = 0; c < columns; ++c) identity[c * columns + c] = 1;
  return {std::vector<double>(columns), std::move(identity)};
}

GivenKnownCells::GivenKnownCells(const ColumnGaussian& gaussian, const RowPattern& pattern)
    : gaussian_(gaussian), pattern_(pattern) {
  const std::size_t missing = pattern.missing.size(), known = pattern.known.size();
  covariance_.resize(missing * missing);
  for (std::size_t i = 0; i < missing; ++i)
    for (std::size_t j = 0; j < missing; ++j)
      covariance_[i * missing + j] = gaussian.precision_of(pattern.missing[i], pattern.missing[j]);
  log_det_known_ = gaussian.log_det + invert_symmetric(covariance_, missing);
  regression_.resize(missing * known);
  std::vector<double> precisions(known);  // between a missing column and the known ones
  for (std::size_t j = 0; j < missing; ++j) {
    for (std::size_t k = 0; k < known; ++k) precisions[k] = gaussian.precision_of(pattern.missing[j], pattern.known[k]);
    for (std::size_t i = 0; i < missing; ++i) {
      const double weight = covariance_[i * missing + j];
      for (std::size_t k = 0; k < known; ++k) regression_[i * known + k] -= weight * precisions[k];
    }
  }
}

void GivenKnownCells::deviations(std::span<const double> row, std::span<double> out) const {
  for (const std::uint32_t c : pattern_.known) out[c] = row[c] - gaussian_.mean[c];
  const std::size_t known = pattern_.known.size();
  for (std::size_t i = 0; i < pattern_.missing.size(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < known; ++k) sum += regression_[i * known + k] * out[pattern_.known[k]];
    out[pattern_.missing[i]] = sum;
  }
}

/// A row of the precision times the deviations.
double GivenKnownCells::weighted(std::size_t column, std::span<const double> deviations) const {
  double sum = 0;
  for (std::size_t c = 0; c < deviations.size(); ++c) sum += gaussian_.precision_of(column, c) * deviations[c];
  return sum;
}

double GivenKnownCells::log_density(std::span<const double> deviations) const {
  double distance = 0;
  for (const std::uint32_t c : pattern_.known) distance += deviations[c] * weighted(c, deviations);
  const double constant = std::log(2 * std::numbers::pi) * static_cast<double>(pattern_.known.size());
  return -0.5 * (log_det_known_ + distance + constant);
}

double GivenKnownCells::leave_one_out(std::span<const double> deviations) const {
  const std::size_t known = pattern_.known.size();
  double sum = 0;
  for (std::size_t k = 0; k < known; ++k) {
    const std::uint32_t c = pattern_.known[k];
    double precision = gaussian_.precision_of(c, c);  // of the cell given the other known ones
    for (std::size_t i = 0; i < pattern_.missing.size(); ++i)
      precision += gaussian_.precision_of(c, pattern_.missing[i]) * regression_[i * known + k];
    const double pull = weighted(c, deviations);
    sum += 0.5 * (std::log(precision) - pull * pull / precision - std::log(2 * std::numbers::pi));
  }
  return sum;
}

namespace {

std::span<const double> row_of(const CellTable& table, std::size_t row) {
  return std::span(table.cells).subspan(row * table.columns, table.columns);
}

/// The result of a step of expectation-maximisation.
struct Step {
  ColumnGaussian next;
  double leave_one_out;  // of the last Gaussian, a known cell
  double change;         // the largest of a covariance
};

/// `scored`: computes the leave-one-out density.
Step improve(const CellTable& table, const std::vector<RowPattern>& patterns, const ColumnGaussian& now, double ridge,
             bool scored) {
  const std::size_t columns = table.columns;
  const auto n = static_cast<double>(table.rows);
  std::vector<double> sums(columns), squares(columns * columns), deviations(columns);
  double leave_one_out = 0;
  std::size_t cells = 0;
  for (const RowPattern& pattern : patterns) {
    const GivenKnownCells given(now, pattern);
    const std::size_t missing = pattern.missing.size();
    for (const std::uint32_t row : pattern.rows) {
      given.deviations(row_of(table, row), deviations);
      if (scored) leave_one_out += given.leave_one_out(deviations);
      for (std::size_t i = 0; i < columns; ++i) {
        sums[i] += deviations[i];
        for (std::size_t j = 0; j <= i; ++j) squares[i * columns + j] += deviations[i] * deviations[j];
      }
    }
    cells += pattern.rows.size() * pattern.known.size();
    const auto rows = static_cast<double>(pattern.rows.size());
    for (std::size_t i = 0; i < missing; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        squares[pattern.missing[i] * columns + pattern.missing[j]] += rows * given.covariance()[i * missing + j];
  }
  std::vector<double> mean(columns), shift(columns), covariance(columns * columns);
  for (std::size_t i = 0; i < columns; ++i) {
    mean[i] = (n * now.mean[i] + sums[i]) / (n + 1);  // one row of the prior at 0
    shift[i] = mean[i] - now.mean[i];
  }
  double change = 0;
  for (std::size_t i = 0; i < columns; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double about = squares[i * columns + j] - shift[i] * sums[j] - sums[i] * shift[j] + n * shift[i] * shift[j];
      const double value = (about + (i == j ? ridge : 0)) / (n + ridge);
      covariance[i * columns + j] = covariance[j * columns + i] = value;
      change = std::max(change, std::abs(value - now.covariance_of(i, j)));
    }
  return {{std::move(mean), std::move(covariance)},
          leave_one_out / static_cast<double>(std::max<std::size_t>(1, cells)),
          change};
}

constexpr double kSettled = 2e-3;  // a change of a covariance, of columns of variance 1

}  // namespace

ColumnGaussian fit_column_gaussian(const CellTable& table, const ColumnFitOptions& options,
                                   const ColumnGaussian* start) {
  const std::vector<RowPattern> patterns = row_patterns(table);
  ColumnGaussian now = start ? *start : ColumnGaussian::standard(table.columns);
  for (int i = 0; i < options.iterations; ++i) {
    throw_if_stopped();
    Step step = improve(table, patterns, now, options.ridge, false);
    now = std::move(step.next);
    if (step.change < kSettled) break;
  }
  return now;
}

double choose_ridge(const CellTable& table) {
  constexpr std::size_t kMany = 40;
  const int steps = table.columns > kMany ? 5 : 15;
  const auto columns = static_cast<double>(table.columns);
  const std::vector<RowPattern> patterns = row_patterns(table);
  double best = 1, density = -std::numeric_limits<double>::infinity(), highest = density;
  ColumnGaussian now = ColumnGaussian::standard(table.columns);
  // Small ridges follow exact relations, such as a sum of columns. They also fit the rows that score them: by chance
  // the density rises by about columns / (2 rows) a cell.
  const double by_chance = 3 * columns / static_cast<double>(table.rows);
  for (const double ridge : {8 * columns, 2 * columns, columns / 2, 1.0, 0.1, 1e-2, 1e-3}) {
    const double before = density;
    for (int i = 0; i < steps; ++i) {  // from the Gaussian of the ridge before
      throw_if_stopped();
      Step step = improve(table, patterns, now, ridge, true);
      density = step.leave_one_out;
      now = std::move(step.next);
      if (step.change < kSettled) break;
    }
    if (!(density > highest) || (ridge < 1 && !(density > before + by_chance))) continue;
    highest = density;
    best = ridge;
  }
  return best;
}

CellCorrelations::CellCorrelations(const ColumnGaussian& gaussian, const CellTable& table, std::size_t columns)
    : pattern_(table.rows) {
  for (const RowPattern& pattern : row_patterns(table)) {
    for (const std::uint32_t row : pattern.rows) pattern_[row] = static_cast<std::uint32_t>(factors_.size());
    Factor& factor = factors_.emplace_back();
    for (const std::uint32_t c : pattern.missing)
      if (c < columns) factor.cells.push_back(c);
    const std::size_t size = factor.cells.size(), missing = pattern.missing.size();
    if (size < 2) continue;
    const GivenKnownCells given(gaussian, pattern);  // `missing` ascends, so the first cells are those of the columns
    std::vector<double> correlations(size * size);
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) {
        const auto covariance = [&](std::size_t a, std::size_t b) { return given.covariance()[a * missing + b]; };
        constexpr double kLargest = 0.9999;  // keeps copies of a column apart from being singular
        correlations[i * size + j] =
            i == j ? 1 : kLargest * covariance(i, j) / std::sqrt(covariance(i, i) * covariance(j, j));
      }
    factor.root.emplace(std::move(correlations), static_cast<std::int64_t>(size));
  }
}

void CellCorrelations::correlate(std::size_t row, std::span<double> normals) const {
  const Factor& factor = factors_[pattern_[row]];
  if (!factor.root) return;
  std::vector<double> z;
  for (const std::uint32_t c : factor.cells) z.push_back(normals[c]);
  z = factor.root->multiply(z);
  for (std::size_t i = 0; i < z.size(); ++i) normals[factor.cells[i]] = z[i];
}

CellFigures predict_from_columns(const ColumnGaussian& gaussian, const CellTable& table) {
  CellFigures figures(table.rows, table.columns);
  std::vector<double> deviations(table.columns);
  for (const RowPattern& pattern : row_patterns(table)) {
    throw_if_stopped();
    const GivenKnownCells given(gaussian, pattern);
    const std::size_t missing = pattern.missing.size();
    for (const std::uint32_t row : pattern.rows) {
      given.deviations(row_of(table, row), deviations);
      for (std::size_t i = 0; i < missing; ++i) {
        const std::uint32_t c = pattern.missing[i];
        figures.mean(row, c) = gaussian.mean[c] + deviations[c];
        figures.std(row, c) = std::sqrt(std::max(0.0, given.covariance()[i * missing + i]));
      }
    }
  }
  return figures;
}

}  // namespace npzoo
