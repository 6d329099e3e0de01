#pragma once

#include "npzoo/models/applications/tables/fill.h"

namespace npzoo {

/// Predicts missing values of rows without an input (`dim_x` 0, no `x`) from the other values and helpers of their row;
/// known values are returned as they are, with deviation 0. Throws Error for groups, targets, a truth, transforms and
/// bounds, and if too few rows have two known values.
FillResult fill_rows_alone(const FillData& data, const FillOptions& options = {});

}  // namespace npzoo
