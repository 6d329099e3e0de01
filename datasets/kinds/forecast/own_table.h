#pragma once

#include "npzoo/datasets/own_data.h"
#include "npzoo/datasets/series/time_series.h"

namespace npzoo {

/// Describes forecasts of columns of a user's own table, of which `training` and `validation` are for training and
/// validation and the rest for tests. Throws Error for columns that the table does not have, and if it is too short.
OwnTasks on_own_table(const OwnSeries& own, const SplitByShares& shares);

}  // namespace npzoo
