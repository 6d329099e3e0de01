#pragma once

#include <functional>
#include <optional>

#include "npzoo/models/applications/tables/fill.h"

namespace npzoo {

/// A method that fills a table.
using FillMethod = std::function<FillResult(const FillData& data)>;

/// Compares two methods on the observed values of a table: each third of the rows is hidden once, and both predict it.
/// Returns the CRPS of `a` over that of `b`, the geometric mean over the columns of values. Returns nothing for more
/// than 8 series, and for fewer than 20 observed values in one of them. The order of rows makes no difference.
std::optional<double> compare_on_hidden_thirds(const FillData& data, const FillMethod& a, const FillMethod& b);

}  // namespace npzoo
