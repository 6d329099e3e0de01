#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/datasets/tables/cell_parser.h"

namespace npzoo {

/// Numbers the business days (Monday to Friday) that ascending dates are, from 0 on. Empty if one is none, if there are
/// fewer than ten, or if a quarter of the business days between the first and the last is missing.
std::vector<std::int64_t> business_days(std::span<const double> times, const ColumnForm& form);

/// The next `count` times in the steps of these: by the calendar for months (the last days of months stay last days),
/// from Friday to Monday for business days, else in steps of the median distance. Any order. Throws Error for equal
/// times and for fewer than two.
std::vector<double> following_times(std::span<const double> times, const ColumnForm& form, std::int64_t count);

}  // namespace npzoo
