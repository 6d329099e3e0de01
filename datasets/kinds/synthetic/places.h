#pragma once

#include <vector>

#include "npzoo/datasets/kinds/synthetic/distribution.h"

namespace npzoo {

/// Places of the points of a task, in the units of a model.
struct Places {
  std::vector<double> xc, xt;  // (Nc, Dx), (Nt, Dx)
  double spacing = 1;          // of the data, before some of it went missing
  bool regular = false;
};

/// Draws a table's places, takes `context` of them, and `targets` of the missing ones, and others if there are too few.
/// Inputs are standardised by the context.
Places draw_places(const SyntheticDistribution& d, std::int64_t context, std::int64_t targets, Random& random);

}  // namespace npzoo
