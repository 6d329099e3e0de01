#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/datasets/kinds/table_tasks/data.h"
#include "npzoo/engine/random.h"

namespace npzoo {

/// Rows of a column that are near to each other, ascending: all of them, or `points` around a row.
std::vector<std::int64_t> window_around(const GroupColumn& column, std::int64_t dim_x, std::int64_t row,
                                        std::int64_t points);
/// The same around any row.
std::vector<std::int64_t> random_window(const GroupColumn& column, std::int64_t dim_x, std::int64_t points,
                                        Random& random);

/// Which of some places (n, Dx) of a task are hidden, as their positions, each once.
std::vector<std::int64_t> scattered_mask(std::int64_t n, Random& random);
/// One to three runs, or clouds where there are several inputs; of one input the last run may be at the end.
std::vector<std::int64_t> gap_mask(std::span<const double> x, std::int64_t dim_x, Random& random);
/// The places nearest to where a window of `donor` has missing values, once both windows are stretched to the same
/// extent. The donor must have one.
std::vector<std::int64_t> hole_mask(std::span<const double> x, std::int64_t dim_x, const GroupColumn& donor,
                                    std::int64_t points, Random& random);

}  // namespace npzoo
