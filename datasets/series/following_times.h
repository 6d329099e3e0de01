#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/datasets/tables/cell_parser.h"

namespace npzoo {

/// The next `count` times in the steps of these: by the calendar for months (the last days of months stay last days),
/// from Friday to Monday for business days, else in steps of the median distance. Any order. Throws Error for equal
/// times and for fewer than two.
std::vector<double> following_times(std::span<const double> times, const ColumnForm& form, std::int64_t count);

}  // namespace npzoo
