#pragma once

#include <vector>

#include "npzoo/models/applications/optimise/acquisition.h"
#include "npzoo/models/applications/optimise/propose.h"
#include "npzoo/models/applications/optimise/search_space.h"
#include "npzoo/models/applications/optimise/surrogate.h"
#include "tools/plot/chart.h"

namespace npzoo {

struct BeliefPicture {
  const SearchSpace& space;
  const Observations& seen;  // one or more
  const Surrogate& surrogate;
  const Acquisition& acquisition;
  bool maximise;
};

/// What is believed, and the acquisition: maps where two axes vary and are not held, with what was observed on them;
/// else along each axis through the best observation.
plot::Figure draw_beliefs(const BeliefPicture& shown);

/// Puts proposals onto maps. Lines along axes, which no proposal need be on, stay as they are.
void mark_proposals(const SearchSpace& space, const std::vector<Proposal>& proposals, plot::Figure& figure);

}  // namespace npzoo
