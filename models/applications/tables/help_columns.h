#pragma once

#include <functional>

#include "npzoo/models/applications/tables/complete_data.h"

namespace npzoo {

/// Predicts each value column by itself.
using FillAlone = std::function<FillResult(const FillData&, const FillOptions&)>;

/// Replaces the figures of missing cells, where the other columns of their row predict hidden cells better, and reports
/// that. `result` is the answer of each column alone; with one column it stays as it is, and so do rows without a known
/// cell. Quantiles and samples are moved and stretched with mean and deviation. Forecasts behind the end of a series
/// that other columns change are no longer among `ends`.
void help_columns(const CompleteData& c, const FillOptions& options, const FillAlone& alone, FillResult& result);

}  // namespace npzoo
