#pragma once

#include <cstdint>
#include <vector>

#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/models/applications/tables/series_predictor.h"

namespace npzoo {

/// Returns for each value column (places) the variance that the errors of predicted covariates add (see
/// FillData::covariate_std), on the scale of the transforms. Predictions are taken as linear within a standard
/// deviation of a covariate. Empty if no covariate was predicted. `question` has the inputs of `data`.
std::vector<std::vector<double>> covariate_variances(SeriesMethod& method, const TrainingRange& range,
                                                     const FillData& data, const TableQuestion& question);

/// Adds independent normal errors of these variances to the samples. Those of a place depend on `x` (places, Dx) alone.
void add_errors_to_samples(const std::vector<std::vector<double>>& variances, std::span<const double> x,
                           std::uint64_t seed, FillResult& result);

}  // namespace npzoo
