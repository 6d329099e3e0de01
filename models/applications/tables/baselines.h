#pragma once

#include <string>
#include <vector>

#include "npzoo/models/applications/tables/table_series.h"

namespace npzoo {

/// The scores of another method on the same rows.
struct BaselineScores {
  std::string name;
  std::vector<TruthScores> scores;  // of each value column
};

/// Scores linear interpolation for one input, and for more the mean of the 16 nearest points weighted by their inverse
/// squared distance, of inputs divided by their extents. The standard deviation is one number for each series: the root
/// of the mean squared error at the observed points, each predicted from the others. A series of fewer than three
/// points has no such score.
BaselineScores score_interpolation(const TableQuestion& question, std::int64_t dim_x);

}  // namespace npzoo
