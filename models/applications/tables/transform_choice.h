#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/table_series.h"
#include "npzoo/models/applications/tables/value_transform.h"

namespace npzoo {

/// A wish for the transforms of value columns.
struct TransformOptions {
  std::optional<ValueTransform::Kind> kind{};  // nothing: sqrt for counts, else none
  bool automatic = false;                      // choose the kind for each column
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool counts = false;  // values are whole numbers; the lower limit is 0 unless `low` names another

  /// Whether any wish was made.
  bool any() const;
};

/// The usual options for values (NaN where missing): counts if they are whole numbers, none is negative, a tenth is 0
/// and some are above 1. Their scale is a root if a third is 0. Otherwise no wish.
TransformOptions usual_transform(std::span<const double> values);

/// The names of kinds: none, log, sqrt, logit. Throws Error for any other.
ValueTransform::Kind transform_kind(const std::string& name);
std::string transform_name(ValueTransform::Kind kind);

/// The transform of a column with these observed values (NaN where missing), whose kind is named. log and sqrt have the
/// lower limit 0 unless `low` names another. Throws Error, naming the column, if a value is outside the limits or at a
/// limit that the kind does not reach, if `counts` meets a fraction, or if logit lacks a limit.
ValueTransform named_transform(const TransformOptions& options, std::span<const double> y, const std::string& name);

/// Chooses the transform of value column `column`: predicts at most 256 observed values from the others under none,
/// log, sqrt and logit, as far as the values allow each, and compares the log-likelihoods of the values (a density of
/// the transformed number times its Jacobian). Returns the best kind if it gains at least 3 nats and two standard
/// errors over none, else none. Without limits, values that are 0 three times and never negative are limited by 0;
/// other values have limits only through a chosen kind. Throws Error as `named_transform` does, and for a model of
/// several values.
ValueTransform choose_transform(const TransformOptions& options, const TableQuestion& question, std::size_t column,
                                SeriesMethod& method);

/// The transform of each value column, and the observed values after it.
struct TransformedValues {
  std::vector<ValueTransform> transforms{};
  std::vector<std::vector<double>> columns{};  // empty if no transform is active
};

/// Transforms the values of a question, which refers to the result. `method` predicts for `choose_transform`.
TransformedValues transform_values(const TransformOptions& options, SeriesMethod& method, TableQuestion& question);

}  // namespace npzoo
