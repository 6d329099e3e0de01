#pragma once

#include <cstdint>
#include <span>

#include "npzoo/datasets/comonotonic_sum.h"
#include "npzoo/models/applications/tables/table_series.h"
#include "npzoo/models/applications/tables/value_transform.h"

namespace npzoo {

/// The distribution of a value: that of Z after limits or a transform, plus a number.
struct RowDistribution {
  /// Its deviation is positive. Log-normal parts have no finite mean through a transform by logarithms.
  ComonotonicSum z;
  ValueTransform transform{};
  double added = 0;

  /// The value that rises with a standard normal number u.
  double at(double u) const;
  ValueMoments moments() const;
  double quantile(double probability) const;
  double crps(double y) const;
  /// The probability of the smallest central interval that holds y.
  double central_mass(double y) const;
};

/// Returns `std`, at least the spacing of doubles at `mean`: methods that fit a series without an error predict 0.
double positive_std(double std, double mean);

/// Replaces the prediction of a row; scores it if `truth` is known (not NaN).
void put(const RowDistribution& distribution, std::int64_t row, double truth, std::span<const double> quantiles,
         PredictedColumn& column);

}  // namespace npzoo
