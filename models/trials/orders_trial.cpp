#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "npzoo/datasets/sorted_quantile.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/trials/share_batches.h"
#include "npzoo/models/trials/trial.h"
#include "npzoo/ops/gather/gather.h"

namespace npzoo {

namespace {

constexpr std::int64_t kBars = 10;  // of the histogram

/// An order of the targets for each task, (B, Nt).
Tensor any_orders(const Task& task, Random& random) {
  const std::int64_t batch = task.xt.dim(0), targets = task.xt.dim(1);
  std::vector<std::int64_t> orders;
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto first = static_cast<std::ptrdiff_t>(orders.size());
    for (std::int64_t i = 0; i < targets; ++i) orders.push_back(i);
    for (std::int64_t i = targets - 1; i > 0; --i)
      std::swap(orders[first + i], orders[first + random.integer(0, i + 1)]);
  }
  return Tensor::from<std::int64_t>({batch, targets}, orders).to(task.xt.device());
}

double deviation_of(const std::vector<double>& values) {
  const double count = static_cast<double>(values.size()),
               mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / count);
}

/// How many lie in each of so many parts of [0, the largest].
std::vector<std::int64_t> histogram(const std::vector<double>& sorted) {
  std::vector<std::int64_t> bars(kBars);
  for (const double v : sorted) {
    const auto bar = sorted.back() > 0 ? static_cast<std::int64_t>(v / sorted.back() * kBars) : 0;
    ++bars[static_cast<std::size_t>(std::min(bar, kBars - 1))];
  }
  return bars;
}

/// Whether it matters in which order targets come (Nivron et al., "Taylorformer", 2023, section 4.4): the deviation of
/// a task's joint log-likelihood per target over some orders of its targets, which is 0 for a consistent process.
/// `rules`: orders. A validation scores likelihoods instead.
class OrdersTrial final : public Trial {
 public:
  void check_rules(const ModelConfig& rules) const override { static_cast<void>(orders_of(rules)); }
  Findings run(const Model& model, const TaskConfig& tasks, const TrialOptions& options) const override {
    if (options.headline_only) return find_trial("likelihood").run(model, tasks, options);
    const std::int64_t orders = orders_of(options.rules);
    const auto source = tasks.source(options.tasks);
    const NoGrad off;
    std::vector<double> deviations;
    RunningMean likelihood;
    share_batches(
        options,
        [&](std::int64_t index) {
          return likelihoods(model, source->task(static_cast<std::uint64_t>(index)), orders, options.tasks.seed, index);
        },
        [&](const std::vector<std::vector<double>>& batch) {
          for (const auto& of_task : batch) {
            deviations.push_back(deviation_of(of_task));
            for (const double each : of_task) likelihood.add(each);
          }
        });
    return told(std::move(deviations), likelihood.estimate(), orders);
  }

 private:
  /// Reads `rules`.
  static std::int64_t orders_of(const ModelConfig& rules) {
    ConfigReader reader(rules, "orders");
    const std::int64_t orders = reader.size("orders", "orders of the targets to compare; 2 or more");
    reader.finish();
    check(orders >= 2, "[orders] orders = {} found, expected 2 or more", orders);
    return orders;
  }

  /// Returns the nats per target of each task, under each order.
  static std::vector<std::vector<double>> likelihoods(const Model& model, const Task& task, std::int64_t orders,
                                                      std::uint64_t seed, std::int64_t index) {
    check(!task.target_lengths.defined() && task.xt.dim(1) > 0,
          "[orders] tasks of several numbers of targets found, or of none, expected one number for a batch");
    constexpr std::uint64_t kStream = std::uint64_t{0x75} << 56;  // apart from those of data and models
    Random random(seed, kStream | static_cast<std::uint64_t>(index));
    Draws draws(seed, Purpose::evaluation, static_cast<std::uint64_t>(index));
    const auto state = model.condition({task.xc, task.yc, task.lengths}, draws, kSamples);
    std::vector<std::vector<double>> found(static_cast<std::size_t>(task.xt.dim(0)));
    for (std::int64_t k = 0; k < orders; ++k) {
      const Tensor order = any_orders(task, random);
      const Tensor joint = model.query(*state, gather(task.xt, order))->joint_log_likelihood(gather(task.yt, order));
      for (std::size_t b = 0; b < found.size(); ++b)
        found[b].push_back(joint.values<double>()[b] / static_cast<double>(task.xt.dim(1)));
    }
    return found;
  }

  static Findings told(std::vector<double> deviations, const Estimate& likelihood, std::int64_t orders) {
    std::ranges::sort(deviations);
    RunningMean mean;
    for (const double each : deviations) mean.add(each);
    const Estimate deviation = mean.estimate();
    const double low = sorted_quantile(deviations, 0.025), high = sorted_quantile(deviations, 0.975);
    Findings found{.tasks = std::ssize(deviations)};
    const auto add = [&](std::string name, const Estimate& value, bool has_error) {
      found.figures.push_back(
          {.name = std::move(name), .value = value, .has_error = has_error, .more_is_better = false});
    };
    add("order_deviation", deviation, true);
    add("order_deviation_quantile.2.5", {low}, false);
    add("order_deviation_quantile.97.5", {high}, false);
    std::string bars;
    const std::vector<std::int64_t> counts = histogram(deviations);
    for (std::size_t bar = 0; bar < counts.size(); ++bar) {
      const double end = deviations.back() * static_cast<double>(bar + 1) / kBars;
      add(fmt::format("order_deviation_histogram.{:.4g}", end), {static_cast<double>(counts[bar])}, false);
      bars += fmt::format(" {}", counts[bar]);
    }
    found.figures.push_back({.name = "joint_log_likelihood_of_orders", .value = {likelihood.value}});
    found.headline_lines = {fmt::format(
        "order deviation      {:.4f} ± {:.4f}  (of the joint log-likelihood, nats per target, over {} orders "
        "of the targets; 95 % of tasks within {:.4f} to {:.4f})",
        deviation.value, deviation.standard_error, orders, low, high)};
    found.further_lines = {
        fmt::format("tasks                {}  (in ten equal steps from 0 to {:.4f})", bars.substr(1),
                    deviations.back()),
        fmt::format("joint                {:.4f}  (nats per target, mean over the orders)", likelihood.value)};
    return found;
  }
};

const Trial& orders_trial() {
  static const OrdersTrial trial;
  return trial;
}

}  // namespace

TrialInfo orders_info() { return {.name = "orders", .trial = orders_trial}; }

}  // namespace npzoo
