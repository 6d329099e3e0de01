#include "npzoo/datasets/kinds/wheel/source.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "npzoo/datasets/gaussian_processes/truth.h"
#include "npzoo/datasets/kinds/wheel/numpy_random.h"
#include "npzoo/engine/random.h"

namespace npzoo {

namespace wheel {

std::int64_t best_arm(double x, double y, double delta) {
  if (std::sqrt(x * x + y * y) < delta) return 0;
  if (y > 0) return x > 0 ? 1 : 2;
  return x <= 0 ? 3 : 4;
}

double mean_reward(std::int64_t arm, std::int64_t best) {
  if (arm == 0) return 1.2;
  return arm == best ? kLarge : 1.0;
}

double std_reward(std::int64_t arm, std::int64_t best) { return arm != 0 && arm == best ? kLargeStd : kStd; }

Problem authors_problem(std::int64_t points, double delta, std::uint32_t order) {
  NumpyRandom random(0);
  std::vector<double> places;
  // Whole squares of them at a time: what is over is thrown away.
  while (std::ssize(places) < 2 * points)
    for (std::int64_t i = 0; i < points / 3; ++i) {
      const double x = -1 + 2 * random.uniform(), y = -1 + 2 * random.uniform();
      if (std::sqrt(x * x + y * y) <= 1) places.insert(places.end(), {x, y});
    }
  std::vector<double> rewards;
  for (std::int64_t i = 0; i < points; ++i) {
    for (std::int64_t arm = 0; arm < kArms; ++arm) rewards.push_back(mean_reward(arm, 0) + kStd * random.normal());
    const std::int64_t best =
        best_arm(places[static_cast<std::size_t>(2 * i)], places[static_cast<std::size_t>(2 * i + 1)], delta);
    // In the place of what has been drawn for that arm.
    if (best != 0) rewards[static_cast<std::size_t>(i * kArms + best)] = kLarge + kLargeStd * random.normal();
  }
  std::vector<std::int64_t> at(static_cast<std::size_t>(points));
  std::iota(at.begin(), at.end(), 0);
  NumpyRandom(order).shuffle(at);
  Problem problem;
  for (const std::int64_t i : at) {
    problem.x.insert(problem.x.end(), places.begin() + 2 * i, places.begin() + 2 * (i + 1));
    problem.y.insert(problem.y.end(), rewards.begin() + i * kArms, rewards.begin() + (i + 1) * kArms);
  }
  return problem;
}

}  // namespace wheel

namespace {

using namespace wheel;

wheel::Problem fresh_problem(std::int64_t points, double delta, Random& random) {
  wheel::Problem problem;
  for (std::int64_t i = 0; i < points; ++i) {
    const double radius = std::sqrt(random.uniform()), angle = random.uniform(0, 2 * std::numbers::pi);
    const double x = radius * std::cos(angle), y = radius * std::sin(angle);
    const std::int64_t best = best_arm(x, y, delta);
    problem.x.insert(problem.x.end(), {x, y});
    for (std::int64_t arm = 0; arm < kArms; ++arm)
      problem.y.push_back(mean_reward(arm, best) + std_reward(arm, best) * random.normal());
  }
  return problem;
}

/// With a known δ, a context has no further information.
class WheelTruth final : public Truth {
 public:
  explicit WheelTruth(std::vector<double> deltas) : deltas_(std::move(deltas)) {}

  std::string name() const override { return "known wheel"; }
  std::optional<std::vector<double>> log_likelihood(const Task& task, Density /*density*/) const override {
    const Task exact = in_double(task);
    const std::int64_t points = exact.xt.dim(1);
    std::vector<double> sums;
    for (std::int64_t b = 0; b < exact.xt.dim(0); ++b) {
      const auto x = exact.xt.values<double>().subspan(static_cast<std::size_t>(b * points * 2));
      const auto y = exact.yt.values<double>().subspan(static_cast<std::size_t>(b * points * kArms));
      const Curve known = *curve(task, b, x.first(static_cast<std::size_t>(points * 2)));
      double& sum = sums.emplace_back();
      for (std::size_t i = 0; i < known.mean.size(); ++i)
        sum += log_normal_density(y[i], known.mean[i], known.std[i] * known.std[i]);
    }
    return sums;
  }
  std::optional<Curve> curve(const Task& /*task*/, std::int64_t row, std::span<const double> x) const override {
    Curve curve;
    for (std::size_t i = 0; i + 1 < x.size(); i += 2) {
      const std::int64_t best = best_arm(x[i], x[i + 1], deltas_[static_cast<std::size_t>(row)]);
      for (std::int64_t arm = 0; arm < kArms; ++arm) {
        curve.mean.push_back(mean_reward(arm, best));
        curve.std.push_back(std_reward(arm, best));
      }
    }
    return curve;
  }

 private:
  std::vector<double> deltas_;  // of each task
};

}  // namespace

wheel::Problem WheelSource::authors(std::uint64_t number, double& delta) const {
  std::uint64_t order = number % kAuthorsProblems;  // in training
  if (options_.split == Split::validation) order = kAuthorsProblems + number;
  if (options_.split == Split::evaluation) order = options_.seed + number;
  constexpr std::uint64_t kDeltas = 4096;  // of the seed; each is a stream of its own
  if (!distribution_.delta) delta = torch_uniforms(0, static_cast<std::int64_t>(order % kDeltas) + 1).back();
  return authors_problem(distribution_.context + distribution_.targets, delta, static_cast<std::uint32_t>(order));
}

Batch WheelSource::batch(std::uint64_t index) const {
  const WheelDistribution& d = distribution_;
  Random random(options_.seed, static_cast<std::uint64_t>(options_.split) << 56 | index);
  const std::int64_t batch = options_.batch_size, points = d.context + d.targets;
  const auto empty = [&](std::int64_t count, std::int64_t width) {
    return Tensor::empty({batch, count, width}, DType::float64, Device::cpu);
  };
  Tensor xc = empty(d.context, 2), yc = empty(d.context, kArms), xt = empty(d.targets, 2), yt = empty(d.targets, kArms);
  std::vector<double> deltas;
  for (std::int64_t b = 0; b < batch; ++b) {
    double& delta = deltas.emplace_back(d.delta ? *d.delta : random.uniform());
    const bool fresh = d.problems == WheelDistribution::Problems::fresh;
    const std::uint64_t number = index * static_cast<std::uint64_t>(batch) + static_cast<std::uint64_t>(b);
    const wheel::Problem problem = fresh ? fresh_problem(points, delta, random) : authors(number, delta);
    const auto deal = [&](const std::vector<double>& values, Tensor& context, Tensor& targets) {
      const std::int64_t first = d.context * context.dim(2), others = d.targets * context.dim(2);
      std::copy_n(values.begin(), first, context.data<double>() + b * first);
      std::copy_n(values.begin() + first, others, targets.data<double>() + b * others);
    };
    deal(problem.x, xc, xt);
    deal(problem.y, yc, yt);
  }
  const DType dtype = options_.dtype;
  const Task task{xc.to(dtype), yc.to(dtype), xt.to(dtype), yt.to(dtype)};
  return {task.to(options_.device), std::make_shared<const WheelTruth>(std::move(deltas))};
}

}  // namespace npzoo
