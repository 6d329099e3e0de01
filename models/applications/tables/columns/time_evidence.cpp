#include "npzoo/models/applications/tables/columns/time_evidence.h"

#include <algorithm>
#include <cmath>

#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/tables/columns/symmetric_inverse.h"

namespace npzoo {

namespace {

/// A cell as its own model measures it.
struct Measurement {
  double value, variance;
};

/// Divides a prediction by the distribution of the column, of which it knows already. `most` bounds its variance as a
/// share of the column's, so that something is left.
Measurement measure(double mean, double std, double column_mean, double column_variance, double most) {
  constexpr double kLeast = 1e-3;  // standard deviation
  const double variance = std::min(std::pow(std::max(std, kLeast), 2), most * column_variance),
               precision = 1 / variance - 1 / column_variance;
  return {(mean / variance - column_mean / column_variance) / precision, 1 / precision};
}

bool whole(const RowPattern& pattern) { return pattern.known.empty(); }

std::span<const double> cells_of(const CellTable& table, std::size_t row) {
  return std::span(table.cells).subspan(row * table.columns, table.columns);
}

}  // namespace

CellFigures combine_with_time(const ColumnGaussian& gaussian, const CellTable& table, const CellFigures& alone) {
  constexpr double kCorrelated = 0.85;  // share of the columns' correlation that errors have
  constexpr double kMost = 0.98, kJitter = 1e-8;
  CellFigures figures(table.rows, table.columns);
  std::vector<double> deviations(table.columns), sum, innovation, noise;
  for (const RowPattern& pattern : row_patterns(table)) {
    throw_if_stopped();
    const GivenKnownCells given(gaussian, pattern);
    const std::size_t missing = pattern.missing.size();
    const std::span<const double> prior = given.covariance();
    innovation.resize(missing);
    noise.resize(missing);
    for (const std::uint32_t row : pattern.rows) {
      if (whole(pattern)) {
        for (const std::uint32_t c : pattern.missing) {
          figures.mean(row, c) = alone.mean(row, c);
          figures.std(row, c) = alone.std(row, c);
        }
        continue;
      }
      given.deviations(cells_of(table, row), deviations);
      for (std::size_t i = 0; i < missing; ++i) {
        const std::uint32_t c = pattern.missing[i];
        const Measurement m =
            measure(alone.mean(row, c), alone.std(row, c), gaussian.mean[c], gaussian.covariance_of(c, c), kMost);
        innovation[i] = m.value - gaussian.mean[c] - deviations[c];
        noise[i] = m.variance;
      }
      sum.assign(prior.begin(), prior.end());
      for (std::size_t i = 0; i < missing; ++i)
        for (std::size_t j = 0; j < missing; ++j) {
          const std::uint32_t a = pattern.missing[i], b = pattern.missing[j];
          const double correlation =
              gaussian.covariance_of(a, b) / std::sqrt(gaussian.covariance_of(a, a) * gaussian.covariance_of(b, b));
          sum[i * missing + j] +=
              i == j ? noise[i] + kJitter : kCorrelated * correlation * std::min(noise[i], noise[j]);
        }
      invert_symmetric(sum, missing);
      for (std::size_t i = 0; i < missing; ++i) {
        double mean = deviations[pattern.missing[i]], variance = prior[i * missing + i];
        for (std::size_t j = 0; j < missing; ++j) {
          double weight = 0;
          for (std::size_t k = 0; k < missing; ++k) weight += prior[i * missing + k] * sum[k * missing + j];
          mean += weight * innovation[j];
          variance -= weight * prior[j * missing + i];
        }
        figures.mean(row, pattern.missing[i]) = gaussian.mean[pattern.missing[i]] + mean;
        figures.std(row, pattern.missing[i]) = std::sqrt(std::max(variance, 1e-6));
      }
    }
  }
  return figures;
}

ColumnRemainder remainder_of_columns(const ColumnGaussian& gaussian, const CellTable& table, const CellFigures& alone) {
  constexpr double kMost = 0.999, kJitter = 1e-9, kLeast = 1e-6;
  const std::size_t columns = table.columns;
  ColumnRemainder all{CellTable(table.rows, columns), CellFigures(table.rows, columns), std::vector<double>(columns)};
  std::vector<double> inverse, deviations(columns), variance(columns);
  for (std::size_t row = 0; row < table.rows; ++row) {
    throw_if_stopped();
    inverse = gaussian.covariance;
    for (std::size_t c = 0; c < columns; ++c) {
      Measurement m{table(row, c), 0};
      if (!table.known(row, c))
        m = measure(alone.mean(row, c), alone.std(row, c), gaussian.mean[c], gaussian.covariance_of(c, c), kMost);
      deviations[c] = m.value - gaussian.mean[c];
      variance[c] = m.variance;
      inverse[c * columns + c] += m.variance + kJitter;
    }
    invert_symmetric(inverse, columns);
    for (std::size_t c = 0; c < columns; ++c) {
      double pull = 0;
      for (std::size_t k = 0; k < columns; ++k) pull += inverse[c * columns + k] * deviations[k];
      const double precision = inverse[c * columns + c];
      all.from_others.mean(row, c) = gaussian.mean[c] + deviations[c] - pull / precision;
      all.from_others.std(row, c) = std::sqrt(std::max(kLeast, 1 / precision - variance[c]));
      if (table.known(row, c)) all.remainder(row, c) = table(row, c) - all.from_others.mean(row, c);
    }
  }
  for (std::size_t c = 0; c < columns; ++c) {
    std::vector<double> known;
    for (std::size_t row = 0; row < table.rows; ++row)
      if (table.known(row, c)) known.push_back(std::pow(all.from_others.std(row, c), 2));
    if (known.empty()) continue;
    const auto middle = known.begin() + std::ssize(known) / 2;
    std::ranges::nth_element(known, middle);
    all.base[c] = *middle;
  }
  return all;
}

CellFigures add_remainder(const ColumnRemainder& columns, const CellTable& table, const CellFigures& remainder,
                          const CellFigures& alone) {
  CellFigures figures = alone;
  for (std::size_t row = 0; row < table.rows; ++row) {
    bool any = false;
    for (std::size_t c = 0; c < table.columns; ++c) any = any || table.known(row, c);
    for (std::size_t c = 0; c < table.columns && any; ++c) {
      const double own = std::max(std::pow(remainder.std(row, c), 2), 1e-8),
                   others = std::pow(columns.from_others.std(row, c), 2);
      figures.mean(row, c) = columns.from_others.mean(row, c) + remainder.mean(row, c);
      figures.std(row, c) =
          std::sqrt(own + std::max(0.0, others - columns.base[c]) * std::min(1.0, own / columns.base[c]));
    }
  }
  return figures;
}

}  // namespace npzoo
