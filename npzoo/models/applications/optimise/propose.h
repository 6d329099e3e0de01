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

/// How several points are chosen that will be evaluated at the same time.
enum class BatchRule : std::uint8_t {
  fantasies,  // each as if those before had been observed to be what was expected of them (Ginsbourger et al., 2010)
  thompson    // each the minimum of a function that was drawn (Kandasamy et al., 2018)
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
  std::vector<double> x;  // (D), of the unit cube, which stands for values that there are
  bool of_design = false;
  double acquisition = 0, mean = 0,
         std = 0;  // not of the design; fantasies see those before, Thompson has no acquisition
};

/// Evaluations that a space-filling design has before a surrogate is asked: 2 (D + 1), of the axes that are not held.
std::int64_t design_size(const SearchSpace& space);

/// The next `count` points of a Sobol sequence that stand for values not observed so far; `seen` counts those that
/// were, those that failed included; fewer if there are no more.
std::vector<Proposal> propose_by_design(const SearchSpace& space, const Observations& seen,
                                        const ProposalOptions& options);

/// What a surrogate is told of evaluations: values far beyond the others drawn in, so that one of 1e30 does not flatten
/// all differences, and the worst of these for evaluations that failed. Values keep their order. Far is more than ten
/// interquartile ranges beyond the quartiles; none comes to lie further away than eleven.
Observations told_values(const Observations& seen);

/// The points that are known of a finished space; none if it is not finished or has real axes.
std::optional<double> finished(const SearchSpace& space, const Observations& seen);

/// Points that a surrogate of one task thinks best, which must have observed `seen` and have learnt; fantasies are told
/// it. The acquisition is looked at on a Sobol sequence and around the best observations, and the best of that climb by
/// their gradient, through the surrogate, within the cube. No point that was observed or proposed comes again: of a
/// space of few integers fewer points may come than were asked for. Throws Error where a batch is to be by Thompson's
/// rule and the surrogate draws no functions.
std::vector<Proposal> propose(Surrogate& surrogate, const SearchSpace& space, const Observations& seen,
                              const ProposalOptions& options);

/// The points x (N, D) after they have climbed the acquisition of a surrogate of one task, best first, each along its
/// own gradient. Coordinates at `held` stay.
std::vector<std::vector<double>> climb(const Surrogate& surrogate, const Judge& judge,
                                       std::vector<std::vector<double>> x, const std::vector<bool>& held);

}  // namespace npzoo
