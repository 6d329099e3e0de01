#pragma once

#include "npzoo/datasets/tables/standardise.h"

// Helpers for tests of predictions for series.

namespace npzoo::testing {

inline constexpr TrainingRange kSeriesRange{{-2, 2}, 3, 46, 0.8};

inline constexpr double kSeriesTolerance = 2e-4;  // float32 through a few layers, in another order of sums

}  // namespace npzoo::testing
