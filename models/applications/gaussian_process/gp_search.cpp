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
constexpr double kUsualSlope = 0;    // the logarithm of its deviation
constexpr auto kAutoKernels = {"matern-1/2", "matern-3/2", "matern-5/2", "rbf"};

void add_row(const GpBlock& from, std::size_t dims, std::size_t row, GpBlock& to) {
  const std::size_t p = from.trend.size() / from.size();
  to.x.insert(to.x.end(), &from.x[row * dims], &from.x[row * dims] + dims);
  to.y.push_back(from.y[row]);
  to.trend.insert(to.trend.end(), from.trend.begin() + static_cast<std::ptrdiff_t>(row * p),
                  from.trend.begin() + static_cast<std::ptrdiff_t>((row + 1) * p));
}

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

/// Starts for each period, and each with long and with short lengthscales or, without lengthscales, with a smooth and
/// with a rough cycle.
std::vector<Start> starts_of(const std::string& kernel, const std::vector<std::size_t>& group_of,
                             const std::vector<std::size_t>& slope_of, const GpBlock& block) {
  const GpCovariance covariance(GpKernel::parse(kernel), group_of, slope_of);
  std::vector<double> center;
  for (const LogNormal& prior : weak_priors(covariance)) center.push_back(prior.center);
  const auto has = [&](GpParameter::Kind kind) {
    return std::ranges::any_of(covariance.parameters(), [&](const GpParameter& p) { return p.kind == kind; });
  };
  const bool lengths = has(GpParameter::Kind::lengthscale);
  std::vector<double> periods{0};
  if (has(GpParameter::Kind::period)) periods = periods_of(block, group_of.size());
  const double shortest = std::log(lengths ? 5.0 : 2.5);
  std::vector<Start> starts;
  for (const double period : periods)
    for (const double shorter : {0.0, shortest}) {
      Start start{covariance, center};
      for (std::size_t k = 0; k < center.size(); ++k) {
        const GpParameter::Kind kind = covariance.parameters()[k].kind;
        if (kind == (lengths ? GpParameter::Kind::lengthscale : GpParameter::Kind::roughness)) start.logs[k] -= shorter;
        if (kind == GpParameter::Kind::period && period > 0) start.logs[k] = std::log(period);
      }
      starts.push_back(std::move(start));
    }
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
  const ClimbOptions equal{.steps = kStartSteps};
  std::optional<Start> best;
  double highest = 0;
  for (Start& start : starts) {
    ClimbOptions options = equal;
    options.tied = ties(start.covariance);
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
