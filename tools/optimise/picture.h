#pragma once

#include <filesystem>

#include "datasets/objectives/search_space.h"
#include "models/decisions/acquisition.h"
#include "models/decisions/surrogate.h"

namespace npzoo {

struct BeliefPicture {
  const std::filesystem::path& path;
  const SearchSpace& space;
  const Observations& seen;  // one or more
  const Surrogate& surrogate;
  const Acquisition& acquisition;
  bool maximise;
};

/// Writes what is believed along each axis through the best observation, and the acquisition below it.
void draw_beliefs(const BeliefPicture& shown);

}  // namespace npzoo
