#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "npzoo/datasets/symmetric_factor.h"
#include "npzoo/models/applications/tables/columns/cell_table.h"

namespace npzoo {

/// A Gaussian distribution of the D columns of a row.
struct ColumnGaussian {
  std::vector<double> mean, covariance;  // (D), (D, D)
  std::vector<double> precision;         // (D, D), the inverse of the covariance
  double log_det = 0;                    // of the covariance

  ColumnGaussian(std::vector<double> mean_of_columns, std::vector<double> covariance_of_columns);
  /// Mean 0 and independent columns of variance 1.
  static ColumnGaussian standard(std::size_t columns);

  std::size_t columns() const { return mean.size(); }
  double covariance_of(std::size_t a, std::size_t b) const { return covariance[a * columns() + b]; }
  double precision_of(std::size_t a, std::size_t b) const { return precision[a * columns() + b]; }
};

/// The distribution of the missing cells of rows of one pattern, given their known ones. Works with the precision:
/// rows of few missing cells need the inverse of a small matrix.
class GivenKnownCells {
 public:
  /// Both must live as long as this.
  GivenKnownCells(const ColumnGaussian& gaussian, const RowPattern& pattern);

  /// Covariance of the missing cells, (M, M).
  std::span<const double> covariance() const { return covariance_; }
  /// Writes the row minus the mean of its columns, with the expectation of missing cells.
  void deviations(std::span<const double> row, std::span<double> out) const;
  /// Log-density of the known cells of a row with these deviations, in nats.
  double log_density(std::span<const double> deviations) const;
  /// Sum of the log-densities of the known cells, each given the others of its row.
  double leave_one_out(std::span<const double> deviations) const;

 private:
  double weighted(std::size_t column, std::span<const double> deviations) const;

  const ColumnGaussian& gaussian_;
  const RowPattern& pattern_;
  std::vector<double> covariance_;
  std::vector<double> regression_;  // (M, K): expectation of missing deviations from known ones
  double log_det_known_ = 0;
};

struct ColumnFitOptions {
  /// Rows of variance 1 and without correlations that the fit adds, as a prior.
  double ridge = 1;
  int iterations = 40;
};

/// Fits a Gaussian to standardised rows with missing cells by expectation-maximisation (Dempster, Laird and Rubin,
/// 1977). With `start` begins there.
ColumnGaussian fit_column_gaussian(const CellTable& table, const ColumnFitOptions& options,
                                   const ColumnGaussian* start = nullptr);
/// Returns the ridge of the largest leave-one-out density.
double choose_ridge(const CellTable& table);

/// Correlations of the missing cells of a row, given its known ones.
class CellCorrelations {
 public:
  /// Looks at which cells of `table` are missing in its first `columns` columns; the values do not matter.
  CellCorrelations(const ColumnGaussian& gaussian, const CellTable& table, std::size_t columns);

  /// Turns independent standard normal numbers of the missing cells, by column, into correlated ones.
  void correlate(std::size_t row, std::span<double> normals) const;

 private:
  struct Factor {
    std::vector<std::uint32_t> cells;     // missing ones among the columns
    std::optional<SymmetricFactor> root;  // none of fewer than two cells
  };
  std::vector<Factor> factors_;         // of each pattern
  std::vector<std::uint32_t> pattern_;  // of each row
};

/// Predicts missing cells from the known cells of their row alone.
CellFigures predict_from_columns(const ColumnGaussian& gaussian, const CellTable& table);

}  // namespace npzoo
