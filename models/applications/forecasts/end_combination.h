#pragma once

#include <array>
#include <span>
#include <vector>

#include "npzoo/models/applications/forecasts/end_parts.h"

namespace npzoo {

/// How the methods of a series are combined.
struct EndCombination {
  std::array<double, kEndMethods> shares{};  // their sum is 1
  double width = 1;                          // factor of deviations
};

/// How much more a profile of many seasons counts than one of few; 1 without a profile.
double trust_in_profile(const EndPart& whole);

/// Averages quantiles of the methods.
EndPath combine(const EndPart& part, const EndCombination& combination);

/// Chooses a combination for each series from the scores of its held-out parts. Series that are forecast together learn
/// from each other which methods are good and how wide deviations should be; a series alone keeps the usual ones.
std::vector<EndCombination> choose_combinations(std::span<const std::vector<EndPart>> series);

}  // namespace npzoo
