#include "models/decisions/propose.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "datasets/objectives/sobol.h"
#include "engine/error.h"
#include "engine/random.h"

namespace npzoo {

namespace {

constexpr std::int64_t kSobolCandidates = 512, kNearCandidates = 64, kThompsonCandidates = 512;
constexpr std::size_t kStarts = 8;
constexpr int kClimbs = 40;
constexpr std::uint64_t kNearStream = 0x51;

using UnitPoint = std::vector<double>;

std::vector<bool> held_inputs(const SearchSpace& space) {
  std::vector<bool> held;
  for (std::int64_t d = 0; d < space.dims(); ++d) held.push_back(space.is_held(d));
  return held;
}

std::set<UnitPoint> observed_points(const SearchSpace& space, const Observations& seen) {
  std::set<UnitPoint> points;
  const auto dims = static_cast<std::size_t>(seen.dims);
  for (std::size_t i = 0; i < seen.y.size(); ++i)
    points.insert(space.nearest(std::span(seen.x).subspan(i * dims, dims)));
  return points;
}

/// Of the sequence, as points that stand for values.
std::vector<UnitPoint> sobol_candidates(const SearchSpace& space, std::int64_t first, std::int64_t count,
                                        std::uint64_t seed) {
  const auto dims = static_cast<std::size_t>(space.dims());
  const std::vector<double> points = sobol_points(space.dims(), first, count, seed);
  std::vector<UnitPoint> candidates;
  for (std::size_t i = 0; i < points.size(); i += dims)
    candidates.push_back(space.nearest(std::span(points).subspan(i, dims)));
  return candidates;
}

/// Around the best observations, at distances of all sizes.
void add_near(const SearchSpace& space, const Observations& seen, std::uint64_t seed,
              std::vector<UnitPoint>& candidates) {
  constexpr std::size_t kBest = 4;
  const auto dims = static_cast<std::size_t>(seen.dims);
  std::vector<std::size_t> order(seen.y.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return seen.y[i]; });
  Random random(seed, kNearStream);
  for (std::size_t k = 0; k < std::min(kBest, order.size()); ++k)
    for (std::int64_t i = 0; i < kNearCandidates; ++i) {
      const double reach = std::pow(10.0, random.uniform(-4, -0.5));
      UnitPoint x(seen.x.begin() + static_cast<std::ptrdiff_t>(order[k] * dims),
                  seen.x.begin() + static_cast<std::ptrdiff_t>((order[k] + 1) * dims));
      for (double& u : x) u = std::clamp(u + reach * random.normal(), 0.0, 1.0);
      candidates.push_back(space.nearest(x));
    }
}

std::vector<double> flat(const std::vector<UnitPoint>& points) {
  std::vector<double> all;
  for (const UnitPoint& x : points) all.insert(all.end(), x.begin(), x.end());
  return all;
}

/// The best first.
void sort_by(std::vector<UnitPoint>& points, const std::vector<double>& value) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return value[i]; });
  std::vector<UnitPoint> sorted;
  for (const std::size_t i : order) sorted.push_back(std::move(points[i]));
  points = std::move(sorted);
}

/// One point and how it climbs.
struct Climber {
  UnitPoint at, next;
  double value, reach = 0.05;
  UnitPoint slope{};

  void take(const double* d_x, const std::vector<bool>& held) {
    slope.assign(d_x, d_x + at.size());
    for (std::size_t d = 0; d < at.size(); ++d) {
      const bool out = (at[d] <= 0 && slope[d] < 0) || (at[d] >= 1 && slope[d] > 0);
      if (held[d] || out || !std::isfinite(slope[d])) slope[d] = 0;
    }
  }

  void step() {
    double length = 0;
    for (const double s : slope) length = std::hypot(length, s);
    next = at;
    for (std::size_t d = 0; d < at.size() && length > 0; ++d)
      next[d] = std::clamp(at[d] + reach * slope[d] / length, 0.0, 1.0);
  }
};

/// The points of the cube that are worth most, those that stand for values that there are, best first.
std::vector<UnitPoint> best_points(const Surrogate& surrogate, const SearchSpace& space, const Observations& seen,
                                   const Judge& judge, std::uint64_t seed) {
  std::vector<UnitPoint> candidates = sobol_candidates(space, 0, kSobolCandidates, seed);
  add_near(space, seen, seed, candidates);
  sort_by(candidates, judge(surrogate.believe(flat(candidates)), nullptr));
  // Starts that are not next to each other: half of them the best, the others spread over the better ones.
  std::vector<UnitPoint> starts;
  for (std::size_t i = 0; i < kStarts; ++i) starts.push_back(candidates[i < kStarts / 2 ? i : (i - 3) * 8]);
  std::vector<UnitPoint> top = climb(surrogate, judge, std::move(starts), held_inputs(space));
  for (UnitPoint& x : top) x = space.nearest(x);
  top.insert(top.end(), candidates.begin(), candidates.end());
  sort_by(top, judge(surrogate.believe(flat(top)), nullptr));
  return top;
}

/// The first that is new; the first of all where none is.
const UnitPoint& first_new(const std::vector<UnitPoint>& points, const std::set<UnitPoint>& known) {
  const auto found = std::ranges::find_if(points, [&](const UnitPoint& x) { return !known.contains(x); });
  return found == points.end() ? points.front() : *found;
}

/// The minimum of a function that is drawn at candidates.
std::vector<UnitPoint> drawn_minimum(const Surrogate& surrogate, const SearchSpace& space, const Observations& seen,
                                     std::uint64_t seed, std::int64_t number) {
  std::vector<UnitPoint> candidates = sobol_candidates(space, number * kThompsonCandidates, kThompsonCandidates, seed);
  add_near(space, seen, seed + static_cast<std::uint64_t>(number), candidates);
  Draws draws(seed, Purpose::prediction, static_cast<std::uint64_t>(seen.size() + number));
  std::vector<double> drawn = surrogate.sample(flat(candidates), draws);
  for (double& y : drawn) y = -y;
  sort_by(candidates, drawn);
  return candidates;
}

}  // namespace

std::int64_t design_size(const SearchSpace& space) {
  std::int64_t free = 0;
  for (std::int64_t d = 0; d < space.dims(); ++d) free += space.is_held(d) ? 0 : 1;
  return 2 * (free + 1);
}

std::vector<Proposal> propose_by_design(const SearchSpace& space, const Observations& seen,
                                        const ProposalOptions& options) {
  constexpr std::int64_t kTries = 4096;
  std::set<UnitPoint> known = observed_points(space, seen);
  std::vector<Proposal> proposals;
  for (std::int64_t i = seen.size(); std::ssize(proposals) < options.count; ++i) {
    const UnitPoint x = sobol_candidates(space, i, 1, options.seed).front();
    if (!known.insert(x).second && i < seen.size() + kTries) continue;
    proposals.push_back({.x = x, .of_design = true});
  }
  return proposals;
}

std::vector<std::vector<double>> climb(const Surrogate& surrogate, const Judge& judge,
                                       std::vector<std::vector<double>> x, const std::vector<bool>& held) {
  const std::size_t dims = held.size();
  Judged judged = surrogate.judge(flat(x), judge);
  std::vector<Climber> climbers;
  for (std::size_t i = 0; i < x.size(); ++i) {
    climbers.push_back({.at = x[i], .next = x[i], .value = judged.value[i]});
    climbers.back().take(&judged.d_x[i * dims], held);
  }
  for (int turn = 0; turn < kClimbs; ++turn) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      climbers[i].step();
      x[i] = climbers[i].next;
    }
    judged = surrogate.judge(flat(x), judge);
    for (std::size_t i = 0; i < x.size(); ++i) {
      Climber& c = climbers[i];
      const bool higher = judged.value[i] > c.value;
      c.reach *= higher ? 1.5 : 0.4;
      if (!higher) continue;
      c.at = x[i];
      c.value = judged.value[i];
      c.take(&judged.d_x[i * dims], held);
    }
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = climbers[i].at;
    values.push_back(climbers[i].value);
  }
  sort_by(x, values);
  return x;
}

std::vector<Proposal> propose(Surrogate& surrogate, const SearchSpace& space, const Observations& seen,
                              const ProposalOptions& options) {
  check(surrogate.tasks() == 1 && seen.size() > 0,
        "[decisions] {} tasks and {} observations, expected one task and some", surrogate.tasks(), seen.size());
  check(options.batch == BatchRule::fantasies || surrogate.samples_functions(),
        "[decisions] a batch by Thompson's rule asked for, {} predicts each point by itself, expected fantasies",
        surrogate.name());
  std::set<UnitPoint> known = observed_points(space, seen);
  Observations told = seen;
  std::vector<Proposal> proposals;
  for (std::int64_t k = 0; k < options.count; ++k) {
    const double best = *std::ranges::min_element(told.y);
    const Judge judge = [&](const Belief& belief, BeliefSlopes* slopes) {
      return acquire(options.acquisition, belief, std::span(&best, 1), slopes);
    };
    const bool thompson = options.batch == BatchRule::thompson;
    const auto seed = options.seed;
    const std::vector<UnitPoint> points =
        thompson ? drawn_minimum(surrogate, space, told, seed, k) : best_points(surrogate, space, told, judge, seed);
    Proposal proposal{.x = first_new(points, known)};
    const Belief belief = surrogate.believe(proposal.x);
    const auto value = [&](AcquisitionKind kind, double width) {
      return acquire({.kind = kind, .width = width}, belief, std::span(&best, 1)).front();
    };
    proposal.mean = -value(AcquisitionKind::confidence_bound, 0);
    proposal.std = value(AcquisitionKind::confidence_bound, 1) + proposal.mean;
    proposal.acquisition = judge(belief, nullptr).front();
    known.insert(proposal.x);
    if (!thompson && k + 1 < options.count) {
      surrogate.observe(proposal.x, std::span(&proposal.mean, 1));
      told.x.insert(told.x.end(), proposal.x.begin(), proposal.x.end());
      told.y.push_back(proposal.mean);
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace npzoo
