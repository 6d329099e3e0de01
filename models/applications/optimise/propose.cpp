#include "npzoo/models/applications/optimise/propose.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "npzoo/datasets/sobol.h"
#include "npzoo/datasets/sorted_quantile.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"

namespace npzoo {

namespace {

constexpr std::int64_t kSobolCandidates = 512, kNearCandidates = 64, kThompsonCandidates = 512;
constexpr std::size_t kStarts = 8;
constexpr double kNoisy = 0.1;  // of the values' deviation: fits of values without noise find a hundredth
constexpr int kClimbs = 40;
constexpr std::uint64_t kNearStream = 0x51;

using UnitPoint = std::vector<double>;

/// Inputs that do not climb: held ones and choices.
std::vector<bool> held_inputs(const SearchSpace& space) {
  std::vector<bool> held;
  for (std::int64_t d = 0; d < space.dims(); ++d) held.push_back(space.is_held(d) || space.input(d).categorical());
  return held;
}

/// Points that are not proposed again.
std::set<UnitPoint> taken_points(const SearchSpace& space, std::initializer_list<std::span<const double>> taken) {
  std::set<UnitPoint> points;
  const auto dims = static_cast<std::size_t>(space.dims());
  for (const std::span<const double> all : taken)
    for (std::size_t i = 0; i < all.size(); i += dims) {
      const auto x = all.subspan(i, dims);
      UnitPoint point = space.nearest(x);
      for (std::size_t d = 0; d < dims; ++d)  // which may have been held elsewhere then
        if (space.is_held(static_cast<std::int64_t>(d))) point[d] = x[d];
      points.insert(std::move(point));
    }
  return points;
}

std::set<UnitPoint> known_points(const SearchSpace& space, const Observations& seen) {
  return taken_points(space, {seen.x, seen.failed, seen.pending});
}

/// Candidates of the Sobol sequence, moved to points that stand for values.
std::vector<UnitPoint> sobol_candidates(const SearchSpace& space, std::int64_t first, std::int64_t count,
                                        std::uint64_t seed) {
  const auto dims = static_cast<std::size_t>(space.dims());
  const std::vector<double> points = sobol_points(space.dims(), first, count, seed);
  std::vector<UnitPoint> candidates;
  for (std::size_t i = 0; i < points.size(); i += dims)
    candidates.push_back(space.nearest(std::span(points).subspan(i, dims)));
  return candidates;
}

/// Candidates around the best observations, at distances of all sizes and often with another choice.
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
      for (std::size_t d = 0; d < dims; ++d) {
        constexpr double kOther = 0.3;  // share of candidates with a choice by chance
        if (!space.input(static_cast<std::int64_t>(d)).categorical())
          x[d] = std::clamp(x[d] + reach * random.normal(), 0.0, 1.0);
        else if (random.uniform(0, 1) < kOther)
          x[d] = random.uniform(0, 1);
      }
      candidates.push_back(space.nearest(x));
    }
}

std::vector<double> flat(const std::vector<UnitPoint>& points) {
  std::vector<double> all;
  for (const UnitPoint& x : points) all.insert(all.end(), x.begin(), x.end());
  return all;
}

/// Sorts by acquisition, the best first.
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

/// Returns the points with the largest acquisition, moved to points that stand for values, best first.
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

/// Returns the first new point; if there is none, the best unknown point of a space of integers. None if all are known.
std::optional<UnitPoint> first_new(const std::vector<UnitPoint>& points, const std::set<UnitPoint>& known,
                                   const SearchSpace& space, const Surrogate& surrogate, const Judge& judge) {
  constexpr std::size_t kMostListed = 4096;
  const auto found = std::ranges::find_if(points, [&](const UnitPoint& x) { return !known.contains(x); });
  if (found != points.end()) return *found;
  std::vector<UnitPoint> unknown = space.unknown_points(known, kMostListed).value_or(std::vector<UnitPoint>());
  if (unknown.empty()) return {};
  sort_by(unknown, judge(surrogate.believe(flat(unknown)), nullptr));
  return unknown.front();
}

/// The spread of sorted values: from quartile to quartile, or the least distance from the median if these are equal.
double spread_of(const std::vector<double>& sorted) {
  const double range = sorted_quantile(sorted, 0.75) - sorted_quantile(sorted, 0.25),
               median = sorted_quantile(sorted, 0.5);
  if (range > 0) return range;
  double least = std::numeric_limits<double>::infinity();
  for (const double y : sorted)
    if (y != median) least = std::min(least, std::abs(y - median));
  return least;
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

/// Takes the expected values of pending points for observed ones.
void expect_values(Surrogate& surrogate, Observations& seen) {
  if (seen.pending.empty()) return;
  const std::vector<double> mean = moments_of(surrogate.believe(seen.pending)).mean;
  surrogate.observe(seen.pending, mean);
  seen.x.insert(seen.x.end(), seen.pending.begin(), seen.pending.end());
  seen.y.insert(seen.y.end(), mean.begin(), mean.end());
  seen.pending.clear();
}

}  // namespace

std::int64_t design_size(const SearchSpace& space) {
  std::int64_t free = 0;
  for (std::int64_t d = 0; d < space.dims(); ++d) free += space.is_held(d) ? 0 : 1;
  return 2 * (free + 1);
}

Observations told_values(const Observations& seen) {
  constexpr double kFar = 10, kStep = 0.1;
  constexpr std::int64_t kFewest = 4;
  Observations told = seen;
  if (seen.size() >= kFewest) {
    std::vector<double> sorted = seen.y;
    std::ranges::sort(sorted);
    const double spread = spread_of(sorted);
    const double low = sorted_quantile(sorted, 0.25) - kFar * spread,
                 high = sorted_quantile(sorted, 0.75) + kFar * spread;
    const double worst_near = *(std::ranges::upper_bound(sorted, high) - 1);
    const auto beyond = [&](double distance) { return spread / (1 + spread / distance); };  // below the spread
    for (double& y : told.y) y = y > high ? worst_near + kStep * beyond(y - high) : y < low ? low - beyond(low - y) : y;
  }
  if (told.y.empty()) return told;
  const double worst = *std::ranges::max_element(told.y);
  told.x.insert(told.x.end(), seen.failed.begin(), seen.failed.end());
  told.y.resize(told.x.size() / static_cast<std::size_t>(seen.dims), worst);
  told.failed.clear();
  return told;
}

std::optional<double> finished(const SearchSpace& space, const Observations& seen) {
  const auto left = space.unknown_points(known_points(space, seen), 1);
  return left && left->empty() ? space.points() : std::nullopt;
}

std::vector<Proposal> propose_by_design(const SearchSpace& space, const Observations& seen,
                                        const ProposalOptions& options) {
  constexpr std::int64_t kTries = 4096;
  std::set<UnitPoint> known = known_points(space, seen);
  std::vector<Proposal> proposals;
  const std::int64_t first = seen.evaluations() + seen.waiting();
  for (std::int64_t i = first; std::ssize(proposals) < options.count && i < first + kTries; ++i) {
    const UnitPoint x = sobol_candidates(space, i, 1, options.seed).front();
    if (known.insert(x).second) proposals.push_back({.x = x, .of_design = true});
  }
  const auto left = static_cast<std::size_t>(options.count - std::ssize(proposals));
  for (UnitPoint& x : space.unknown_points(known, left).value_or(std::vector<UnitPoint>()))
    proposals.push_back({.x = std::move(x), .of_design = true});
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
    throw_if_stopped();
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
        "[optimise] {} tasks and {} observations, expected one task and some", surrogate.tasks(), seen.size());
  check(options.batch == BatchRule::fantasies || surrogate.samples_functions(),
        "[optimise] thompson found, but {} predicts each point by itself, expected fantasies", surrogate.name());
  const bool thompson = options.batch == BatchRule::thompson;
  std::set<UnitPoint> known =
      surrogate.noise() > kNoisy ? taken_points(space, {seen.failed, seen.pending}) : known_points(space, seen);
  Observations told = seen;
  if (!thompson) expect_values(surrogate, told);
  std::vector<Proposal> proposals;
  for (std::int64_t k = 0; k < options.count; ++k) {
    if (options.progress) options.progress(k, options.count);
    throw_if_stopped();
    const double best = *std::ranges::min_element(told.y);
    const Judge judge = [&](const Belief& belief, BeliefSlopes* slopes) {
      return acquire(options.acquisition, belief, std::span(&best, 1), slopes);
    };
    const auto seed = options.seed;
    const std::vector<UnitPoint> points = thompson ? drawn_minimum(surrogate, space, told, seed, seen.waiting() + k)
                                                   : best_points(surrogate, space, told, judge, seed);
    const std::optional<UnitPoint> next = first_new(points, known, space, surrogate, judge);
    if (!next) break;
    Proposal proposal{.x = *next};
    const Belief belief = surrogate.believe(proposal.x);
    const BeliefMoments moments = moments_of(belief);
    proposal.mean = moments.mean.front();
    proposal.std = moments.std.front();
    proposal.acquisition = judge(belief, nullptr).front();
    known.insert(proposal.x);
    if (!thompson && k + 1 < options.count) {
      surrogate.observe(proposal.x, std::span(&proposal.mean, 1));
      told.x.insert(told.x.end(), proposal.x.begin(), proposal.x.end());
      told.y.push_back(proposal.mean);
    }
    proposals.push_back(std::move(proposal));
  }
  if (options.progress) options.progress(std::ssize(proposals), options.count);
  return proposals;
}

}  // namespace npzoo
