#include "npzoo/models/applications/gaussian_process/gp_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "npzoo/datasets/permutation.h"
#include "npzoo/engine/error.h"
#include "npzoo/models/applications/gaussian_process/gp_periods.h"
#include "npzoo/models/applications/neighbour_tree.h"

namespace npzoo {

namespace {

constexpr std::size_t kWhole = 400, kBlockPoints = 128, kBlocks = 8;
constexpr std::uint64_t kOrderSeed = 0x6a7;
constexpr int kStartSteps = 12, kSteps = 80;
constexpr double kLeastGain = 0.02;  // nats
constexpr std::size_t kMostApart = 8;
constexpr double kUsualSlope = 0;  // the logarithm of its deviation
constexpr auto kAutoKernels = {"matern-1/2", "matern-3/2", "matern-5/2", "rbf"};

void add_row(const GpBlock& from, std::size_t dims, std::size_t row, GpBlock& to) {
  const std::size_t p = from.trend.size() / from.size();
  to.x.insert(to.x.end(), &from.x[row * dims], &from.x[row * dims] + dims);
  to.y.push_back(from.y[row]);
  to.trend.insert(to.trend.end(), from.trend.begin() + static_cast<std::ptrdiff_t>(row * p),
                  from.trend.begin() + static_cast<std::ptrdiff_t>((row + 1) * p));
}

/// Whether a search begins with a lengthscale of its own for each group of inputs: for many groups that takes too long.
bool begins_apart(const GpCovariance& covariance) { return covariance.groups() <= kMostApart; }

/// Gives the lengthscales of one term the same number, and each other hyper-parameter its own.
std::vector<std::size_t> ties(const GpCovariance& covariance) {
  std::vector<std::size_t> tied;
  const std::vector<GpParameter>& all = covariance.parameters();
  for (std::size_t k = 0; k < all.size(); ++k) {
    const bool follows = k > 0 && all[k].kind == GpParameter::Kind::lengthscale && all[k].group > 0;
    tied.push_back(follows ? tied.back() : k);
  }
  return tied;
}

struct Start {
  GpCovariance covariance;
  std::vector<double> logs;
};

/// Likely periods of a block along the first input; 0 alone if there are none.
std::vector<double> periods_of(const GpBlock& block, std::size_t dims) {
  std::vector<double> along;
  for (std::size_t i = 0; i < block.size(); ++i) along.push_back(block.x[i * dims]);
  std::vector<double> periods = likely_periods(along, block.y);
  if (periods.empty()) periods.push_back(0);
  return periods;
}

/// The first steps of a climb from `logs`. The evidence has a peak at the right period that is narrower the more cycles
/// there are; a step beyond it finds no way back.
std::vector<double> first_steps(const GpCovariance& covariance, std::span<const double> logs) {
  constexpr double kStep = 0.2, kOfCycle = 0.1;  // inputs have an extent of about 1
  std::vector<double> steps;
  for (std::size_t k = 0; k < logs.size(); ++k) {
    const bool period = covariance.parameters()[k].kind == GpParameter::Kind::period;
    steps.push_back(period ? std::min(kStep, kOfCycle * std::exp(logs[k])) : kStep);
  }
  return steps;
}

/// The logarithms with which lengthscales begin, for each group of inputs: all long, all short, and one of them short
/// where the others are longer still.
std::vector<std::vector<double>> lengths_of_starts(const GpCovariance& covariance) {
  const double shorter = std::log(5.0), longer = std::log(3.0);
  const std::size_t groups = covariance.groups();
  std::vector<std::vector<double>> all{std::vector<double>(groups, 0), std::vector<double>(groups, -shorter)};
  for (std::size_t group = 0; group < groups && groups > 1 && begins_apart(covariance); ++group)
    all.emplace_back(groups, longer)[group] = -shorter;
  return all;
}

/// Starts for each period, and each with these lengthscales or, without lengthscales, with a smooth and a rough cycle.
std::vector<Start> starts_of(const std::string& kernel, const std::vector<std::size_t>& group_of,
                             const std::vector<std::size_t>& slope_of, const GpBlock& block) {
  const GpCovariance covariance(GpKernel::parse(kernel), group_of, slope_of);
  std::vector<double> center;
  for (const LogNormal& prior : weak_priors(covariance)) center.push_back(prior.center);
  const auto has = [&](GpParameter::Kind kind) {
    return std::ranges::any_of(covariance.parameters(), [&](const GpParameter& p) { return p.kind == kind; });
  };
  std::vector<double> periods{0};
  if (has(GpParameter::Kind::period)) periods = periods_of(block, group_of.size());
  std::vector<Start> starts;
  const auto add = [&](double period, GpParameter::Kind changed, const auto& change) {
    Start& start = starts.emplace_back(Start{covariance, center});
    for (std::size_t k = 0; k < center.size(); ++k) {
      const GpParameter& p = covariance.parameters()[k];
      if (p.kind == changed) start.logs[k] += change(p);
      if (p.kind == GpParameter::Kind::period && period > 0) start.logs[k] = std::log(period);
    }
  };
  for (const double period : periods)
    if (has(GpParameter::Kind::lengthscale))
      for (const std::vector<double>& lengths : lengths_of_starts(covariance))
        add(period, GpParameter::Kind::lengthscale, [&](const GpParameter& p) { return lengths[p.group]; });
    else
      for (const double rougher : {0.0, std::log(2.5)})
        add(period, GpParameter::Kind::roughness, [&](const GpParameter&) { return -rougher; });
  return starts;
}

GpOptimum climb_from(const GpCovariance& covariance, const std::vector<double>& logs, std::span<const GpBlock> blocks,
                     ClimbOptions options) {
  options.first_steps = first_steps(covariance, logs);
  return climb_evidence([&](std::span<const double> at) { return log_evidence(covariance, at, blocks); },
                        weak_priors(covariance), logs, options);
}

}  // namespace

std::vector<GpBlock> fit_blocks(const GpBlock& all, std::size_t dims) {
  const std::size_t n = all.size();
  std::vector<GpBlock> blocks;
  if (n <= kWhole) {
    blocks.push_back(all);
  } else {
    const Permutation order(static_cast<std::int64_t>(n), kOrderSeed, 0);
    const NeighbourTree tree(all.x, dims);
    for (std::size_t b = 0; b < kBlocks / 2; ++b) {
      GpBlock& spread = blocks.emplace_back();
      for (std::size_t i = 0; i < kBlockPoints; ++i)
        add_row(all, dims, static_cast<std::size_t>(order(static_cast<std::int64_t>((b * kBlockPoints + i) % n))),
                spread);
    }
    for (std::size_t b = 0; b < kBlocks / 2; ++b) {
      const auto center = static_cast<std::size_t>(order(static_cast<std::int64_t>(n - 1 - b)));
      GpBlock& near = blocks.emplace_back();
      for (const auto& [distance, row] : tree.nearest(&all.x[center * dims], kBlockPoints))
        add_row(all, dims, row, near);
    }
  }
  return blocks;
}

std::vector<LogNormal> weak_priors(const GpCovariance& covariance) {
  const double of_inputs = std::log(0.4 * std::sqrt(static_cast<double>(covariance.groups())));
  std::vector<LogNormal> priors;
  for (const GpParameter& p : covariance.parameters()) switch (p.kind) {
      case GpParameter::Kind::scale: priors.push_back({0, 1.5, std::log(1e-3), std::log(30.0)}); break;
      case GpParameter::Kind::lengthscale: priors.push_back({of_inputs, 1, std::log(1e-4), std::log(100.0)}); break;
      case GpParameter::Kind::period: priors.push_back({std::log(0.2), 3, std::log(1e-5), std::log(2.0)}); break;
      case GpParameter::Kind::roughness: priors.push_back({0, 1, std::log(0.1), std::log(10.0)}); break;
      case GpParameter::Kind::slope: priors.push_back({kUsualSlope, 1.5, std::log(1e-3), std::log(100.0)}); break;
      case GpParameter::Kind::noise: priors.push_back({std::log(0.1), 2, std::log(1e-4), std::log(3.0)}); break;
    }
  return priors;
}

GpSearchResult search_hyperparameters(std::vector<GpBlock> blocks, const std::vector<std::size_t>& group_of,
                                      const std::vector<std::size_t>& slope_of, const std::string& kernel) {
  const std::size_t dims = group_of.size();
  GpBlock few;  // which decides between the starts
  const std::size_t n = blocks.front().size(), count = std::min(n, kBlockPoints);
  for (std::size_t i = 0; i < count; ++i) add_row(blocks.front(), dims, i * n / count, few);
  std::vector<Start> starts;
  for (const std::string& name :
       kernel == "auto" ? std::vector<std::string>(kAutoKernels.begin(), kAutoKernels.end()) : std::vector{kernel})
    for (Start& start : starts_of(name, group_of, slope_of, few)) starts.push_back(std::move(start));
  std::optional<Start> best;
  double highest = 0;
  for (Start& start : starts) {
    ClimbOptions options{.steps = kStartSteps};
    if (!begins_apart(start.covariance)) options.tied = ties(start.covariance);
    GpOptimum found = climb_from(start.covariance, start.logs, std::span(&few, 1), options);
    if (best && found.log_density <= highest) continue;
    highest = found.log_density;
    best = Start{std::move(start.covariance), std::move(found.logs)};
  }
  GpOptimum last = climb_from(best->covariance, best->logs, blocks, {.steps = kSteps, .least_gain = kLeastGain});
  GpSearchResult result{best->covariance.kernel(), std::move(last.logs), last.log_density};
  for (const GpBlock& block : blocks) result.fitted_points += static_cast<std::int64_t>(block.size());
  return result;
}

}  // namespace npzoo
