#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/models/applications/optimise/acquisition.h"
#include "npzoo/models/applications/optimise/search_space.h"
#include "npzoo/models/applications/optimise/surrogate.h"

namespace npzoo {

/// Rules that choose several points for simultaneous evaluation.
enum class BatchRule : std::uint8_t {
  fantasies,  // each point assumes the expected values at the earlier ones (Ginsbourger et al., 2010)
  thompson    // each point is the minimum of a sampled function (Kandasamy et al., 2018)
};

struct ProposalOptions {
  std::int64_t count = 1;
  Acquisition acquisition{};
  BatchRule batch = BatchRule::fantasies;
  std::uint64_t seed = 0;
  std::function<void(std::int64_t done, std::int64_t all)> progress{};  // points that `propose` has chosen
};

/// A point to evaluate next.
struct Proposal {
  std::vector<double> x;  // (D), in the unit cube; it stands for a value of each axis
  bool of_design = false;
  double acquisition = 0, mean = 0,
         std = 0;  // not of the design; fantasies see those before, Thompson has no acquisition
};

/// Returns the size of the space-filling design that precedes the surrogate: 2 (D + 1), where D counts the axes that
/// are not fixed.
std::int64_t design_size(const SearchSpace& space);

/// Returns the next `count` points of a Sobol sequence that stand for values not yet in `seen`, where failed
/// evaluations and pending ones count as seen; fewer if no others are left.
std::vector<Proposal> propose_by_design(const SearchSpace& space, const Observations& seen,
                                        const ProposalOptions& options);

/// Returns the evaluations as the surrogate sees them. Values more than ten interquartile ranges beyond the quartiles
/// are moved in and keep their order: one value of 1e30 would flatten all differences, or make the function look rough
/// everywhere. Those above end at most a tenth of a range above the worst of the others, those below at most eleven
/// ranges below the quartile. Failed evaluations get the worst of these values.
Observations told_values(const Observations& seen);

/// Returns the known points of an exhausted space; none if it is not exhausted or has real axes.
std::optional<double> finished(const SearchSpace& space, const Observations& seen);

/// Returns the points with the largest acquisition under a surrogate of one task, which must have observed `seen` and
/// have learnt. Adds fantasies to the surrogate, first those of pending points. Evaluates the acquisition on a Sobol
/// sequence and around the best observations; the best of these points climb its gradient within the cube. No point is
/// proposed that was observed or proposed before, so a space of few integers may give fewer points.
///
/// An observed point may be proposed again if the surrogate fitted noise of a tenth of the values' deviation or more.
/// Throws Error for a batch by Thompson's rule if the surrogate does not sample functions.
std::vector<Proposal> propose(Surrogate& surrogate, const SearchSpace& space, const Observations& seen,
                              const ProposalOptions& options);

/// The points x (N, D) after they have climbed the acquisition of a surrogate of one task, best first, each along its
/// own gradient. Coordinates at `held` stay.
std::vector<std::vector<double>> climb(const Surrogate& surrogate, const Judge& judge,
                                       std::vector<std::vector<double>> x, const std::vector<bool>& held);

}  // namespace npzoo
