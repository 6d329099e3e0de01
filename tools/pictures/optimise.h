#pragma once

#include <vector>

#include "npzoo/models/applications/optimise/bayesian_optimiser.h"
#include "tools/plot/chart.h"

namespace npzoo::tools {

/// Draws a surrogate's beliefs and the acquisition: maps with the evaluations and proposals on them, or lines along
/// each axis, without proposals, which need not be on the lines.
plot::Figure draw_beliefs(const SearchSpace& space, const Beliefs& beliefs,
                          const std::vector<ProposedPoint>& proposals);

}  // namespace npzoo::tools
