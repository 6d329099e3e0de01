#include "npzoo/datasets/events/process_prior.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "npzoo/datasets/events/hawkes.h"
#include "npzoo/datasets/events/mark_chain.h"
#include "npzoo/datasets/events/renewal.h"
#include "npzoo/datasets/events/self_correcting.h"
#include "npzoo/datasets/events/time_change.h"

namespace npzoo {

namespace {

double log_uniform(double low, double high, Random& random) {
  return std::exp(random.uniform(std::log(low), std::log(high)));
}

/// Adds up to 1. With a small concentration a few of them have nearly all.
std::vector<double> draw_shares(std::size_t count, double concentration, Random& random) {
  std::vector<double> shares;
  // X ~ gamma(a + 1), U ~ uniform: X · U^(1/a) ~ gamma(a), whose logarithm does not underflow
  for (std::size_t i = 0; i < count; ++i)
    shares.push_back(std::log(random.gamma(concentration + 1)) + std::log1p(-random.uniform()) / concentration);
  const double most = std::ranges::max(shares);
  double sum = 0;
  for (double& share : shares) sum += share = std::exp(share - most);
  for (double& share : shares) share /= sum;
  return shares;
}

/// A renewal process with a mean gap of 1.
std::shared_ptr<const PointProcess> draw_renewal(Random& random) {
  switch (random.integer(0, 3)) {
    case 0: {
      const double shape = log_uniform(0.3, 20, random);
      return std::make_shared<const Renewal>(GapDistribution{GapDistribution::Kind::gamma, shape, 1 / shape});
    }
    case 1: {
      const double shape = log_uniform(0.4, 5, random);
      return std::make_shared<const Renewal>(
          GapDistribution{GapDistribution::Kind::weibull, shape, 1 / std::tgamma(1 + 1 / shape)});
    }
    default: {
      const double std = log_uniform(0.15, 2, random);
      return std::make_shared<const Renewal>(GapDistribution{GapDistribution::Kind::log_normal, -std * std / 2, std});
    }
  }
}

/// Solves (I − branching) x = baseline by its series: the generations of events of one after the other.
std::vector<double> long_run_rates(const std::vector<double>& baseline, const std::vector<double>& branching) {
  constexpr int kGenerations = 400;
  const std::size_t kinds = baseline.size();
  std::vector<double> rates = baseline, generation = baseline;
  for (int g = 0; g < kGenerations; ++g) {
    std::vector<double> next(kinds);
    for (std::size_t k = 0; k < kinds; ++k)
      for (std::size_t j = 0; j < kinds; ++j) next[k] += branching[k * kinds + j] * generation[j];
    generation = next;
    for (std::size_t k = 0; k < kinds; ++k) rates[k] += generation[k];
  }
  return rates;
}

/// A Hawkes process whose events come once per unit of time in the long run. An event has up to .9 others as its
/// children, most of them of its own kind or of any kind.
std::shared_ptr<const PointProcess> draw_hawkes(std::int64_t marks, Random& random) {
  const auto kinds = static_cast<std::size_t>(marks);
  const double children = random.uniform(0.1, 0.9), of_own_kind = random.uniform(),
               decay = log_uniform(0.2, 20, random);
  std::vector<double> baseline = draw_shares(kinds, 2, random), branching(kinds * kinds), excitation, decays;
  for (std::size_t j = 0; j < kinds; ++j) {
    const std::vector<double> others = draw_shares(kinds, 0.5, random);
    for (std::size_t k = 0; k < kinds; ++k)
      branching[k * kinds + j] = children * ((k == j ? of_own_kind : 0.0) + (1 - of_own_kind) * others[k]);
  }
  for (const double b : branching) {
    decays.push_back(decay * log_uniform(0.5, 2, random));
    excitation.push_back(b * decays.back());
  }
  const std::vector<double> rates = long_run_rates(baseline, branching);
  const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
  for (double& rate : baseline) rate /= all;
  return std::make_shared<const Hawkes>(std::move(baseline), std::move(excitation), std::move(decays));
}

std::shared_ptr<const PointProcess> with_chain(std::shared_ptr<const PointProcess> times, std::int64_t marks,
                                               Random& random) {
  const auto kinds = static_cast<std::size_t>(marks);
  const double concentration = log_uniform(0.1, 3, random), alike = random.uniform() < 0.5 ? 1 : random.uniform();
  const std::vector<double> usual = draw_shares(kinds, 1.5, random);
  std::vector<double> next;
  for (std::size_t j = 0; j < kinds; ++j) {
    const std::vector<double> own = draw_shares(kinds, concentration, random);
    for (std::size_t k = 0; k < kinds; ++k) next.push_back(alike * usual[k] + (1 - alike) * own[k]);
  }
  return std::make_shared<const MarkChain>(std::move(times), usual, std::move(next));
}

/// The process on a clock whose speed is 1 on average: a few waves of its logarithm.
std::shared_ptr<const PointProcess> on_a_clock(std::shared_ptr<const PointProcess> process, Random& random) {
  const std::int64_t parts = random.integer(2, 25), waves = std::min<std::int64_t>(random.integer(1, 4), parts / 2);
  const double period = log_uniform(4, 60, random), height = random.uniform(0.3, 2.5);
  std::vector<double> speeds(static_cast<std::size_t>(parts));
  for (std::int64_t w = 1; w <= waves; ++w) {
    const double phase = random.uniform(0, 2 * std::numbers::pi),
                 own = height * random.normal() / static_cast<double>(w);
    for (std::int64_t p = 0; p < parts; ++p)
      speeds[static_cast<std::size_t>(p)] +=
          own * std::sin(phase + 2 * std::numbers::pi * static_cast<double>(w * p) / static_cast<double>(parts));
  }
  double sum = 0;
  for (double& speed : speeds) sum += speed = std::exp(std::clamp(speed, -4.0, 4.0));
  for (double& speed : speeds) speed *= static_cast<double>(parts) / sum;
  return std::make_shared<const TimeChange>(std::move(process), period, std::move(speeds));
}

}  // namespace

std::shared_ptr<const PointProcess> draw_process(std::int64_t marks, Random& random) {
  const std::int64_t kinds = random.uniform() < 0.4 ? 1 : random.integer(1, marks + 1);
  const double kind = random.uniform();
  const bool excites = kind < 0.4;
  std::shared_ptr<const PointProcess> process;
  if (excites)
    process = draw_hawkes(kinds, random);
  else if (kind < 0.5)
    process = std::make_shared<const Poisson>(std::vector{1.0});
  else if (kind < 0.9)
    process = draw_renewal(random);
  else {
    const double correction = log_uniform(0.05, 2, random);
    process = std::make_shared<const SelfCorrecting>(correction, correction);
  }
  if (!excites && kinds > 1) process = with_chain(std::move(process), kinds, random);
  if (random.uniform() < 0.35) process = on_a_clock(std::move(process), random);
  return std::make_shared<const TimeChange>(std::move(process), 1, std::vector{log_uniform(1.0 / 3, 3, random)});
}

}  // namespace npzoo
