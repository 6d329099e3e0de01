#include "npzoo/datasets/kinds/gp/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "npzoo/datasets/gaussian_processes/covariance.h"
#include "npzoo/datasets/kinds/gp/draw.h"
#include "npzoo/datasets/kinds/gp/oracle.h"
#include "npzoo/datasets/kinds/gp/sampler.h"
#include "npzoo/datasets/toml_reader.h"

namespace npzoo {

namespace {

Prior read_prior(TomlReader& kernel, std::string_view key, KeyLine line) {
  kernel.any_form(key, line, "a number > 0, {uniform = [low, high]}, {log_uniform = [low, high]} or {beta = [a, b]}");
  if (!kernel.is_table(key)) return {Prior::Kind::constant, kernel.number(key, kPartOfForm, kPositive), 0};
  TomlReader prior = kernel.table(key, kPartOfForm);
  for (const auto& [name, form] :
       {std::pair("uniform", Prior::Kind::uniform), std::pair("log_uniform", Prior::Kind::log_uniform)}) {
    if (!prior.has(name)) continue;
    const auto [low, high] = prior.two_numbers(name, kPartOfForm, kPositive);
    if (low >= high) prior.reject(name, fmt::format("[{}, {}]", low, high), "low < high");
    prior.finish();
    return {form, low, high};
  }
  const auto [a, b] = prior.two_numbers("beta", kPartOfForm, kAtLeastOne);
  prior.finish();
  return {Prior::Kind::beta, a, b};
}

std::vector<KernelPrior> read_kernels(TomlReader& owner) {
  std::vector<KernelPrior> kernels;
  for (TomlReader& reader : owner.tables("kernels", "kernels of the Gaussian process; a task draws one of them")) {
    KernelPrior& kernel = kernels.emplace_back();
    constexpr KernelKind kKinds[] = {KernelKind::rbf,      KernelKind::matern32,        KernelKind::matern52,
                                     KernelKind::periodic, KernelKind::weakly_periodic, KernelKind::rbf_mixture};
    std::vector<std::string_view> names;
    for (const KernelKind candidate : kKinds) names.push_back(to_string(candidate));
    const std::string kind = reader.choice("kind", "kernel", names);
    for (const KernelKind candidate : kKinds)
      if (kind == to_string(candidate)) kernel.kind = candidate;
    kernel.lengthscale = read_prior(reader, "lengthscale", "lengthscale, in units of the inputs");
    kernel.scale = read_prior(reader, "scale", "standard deviation of the function");
    if (has_period(kernel.kind)) kernel.period = read_prior(reader, "period", "period, in units of the inputs");
    if (kernel.kind == KernelKind::rbf_mixture)
      kernel.second_lengthscale =
          read_prior(reader, "second_lengthscale", "lengthscale of the second component of the mixture");
    reader.finish();
  }
  return kernels;
}

Interval support(const Prior& prior) {
  switch (prior.kind) {
    case Prior::Kind::constant: return {prior.a, prior.a};
    case Prior::Kind::uniform:
    case Prior::Kind::log_uniform: return {prior.a, prior.b};
    case Prior::Kind::beta: break;
  }
  return {0, 1};
}

/// Reads which points of a function are context and which are targets.
void read_points(TomlReader& data, GpDistribution& d) {
  d.points = data.integer("points", "random points of a task", 2, kMaxDensePoints);
  d.shared = data.boolean("shared", "whether the tasks of a batch share places and hyper-parameters");
  const std::string targets =
      data.choice("targets", "points to predict: others than the context, all others, or all points and a grid",
                  {"disjoint", "rest", "all"});
  d.targets = targets == "all"    ? GpDistribution::Targets::all
              : targets == "rest" ? GpDistribution::Targets::rest
                                  : GpDistribution::Targets::disjoint;
  if (targets == "all") {
    d.grid = data.integer("grid", "points of the grid along each input", 0, kMaxDensePoints);
    const double total = static_cast<double>(d.points) + std::pow(static_cast<double>(d.grid), d.dims);
    data.expect(total <= kMaxDensePoints, "grid", fmt::format("{} per axis", d.grid),
                fmt::format("at most {} points", kMaxDensePoints));
  } else if (targets == "disjoint" && data.has("target_count")) {
    d.target_count.emplace();
    std::tie(d.target_count->low, d.target_count->high) = data.range("target_count", "number of targets", 1, d.points);
  } else if (targets == "disjoint") {
    d.min_targets = data.integer("min_targets", "least number of targets", 1, d.points - 1);
  }
  const std::int64_t end = targets == "all"    ? d.points + 1
                           : targets == "rest" ? d.points
                           : d.target_count    ? d.points - d.target_count->high + 2
                                               : d.points - d.min_targets;
  std::tie(d.context.low, d.context.high) = data.range("context", "number of context points", 0, end);
  d.ragged =
      data.choice("context_per", "whether the tasks of a batch have one number of context points, or each its own",
                  {"batch", "row"}) == "row";
  d.context_noise = data.number("context_noise", "standard deviation of noise on context values", kNonNegative);
  d.target_noise = data.number("target_noise", "standard deviation of noise on target values", kNonNegative);
  d.jitter = data.number("jitter", "added to the diagonal of covariance matrices", kNonNegative);
}

}  // namespace

std::shared_ptr<const TaskConfig> read_gp_config(TomlReader& data) {
  GpDistribution d;
  d.kernels = read_kernels(data);
  d.dims = data.integer("dims", "inputs", 1, 16);
  std::tie(d.low, d.high) = data.two_numbers("domain", "range of each input", kFinite);
  if (d.low >= d.high) data.reject("domain", fmt::format("[{}, {}]", d.low, d.high), "low < high");
  read_points(data, d);
  return std::make_shared<const GpConfig>(std::move(d));
}

std::unique_ptr<TaskSource> GpConfig::source(const SourceOptions& options) const {
  return std::make_unique<GpSampler>(distribution_, options);
}

std::shared_ptr<const TaskConfig> GpConfig::with_test_overrides(TomlReader& test) const {
  GpDistribution tested = distribution_;
  tested.kernels = read_kernels(test);
  if (test.has("targets")) {
    tested.grid = 0;
    tested.target_count.reset();
    read_points(test, tested);
  }
  return std::make_shared<const GpConfig>(std::move(tested));
}

TaskExtents GpConfig::typical_extents() const {
  const GpDistribution& d = distribution_;
  if (d.targets == GpDistribution::Targets::all)
    return {(d.context.low + d.context.high - 1) / 2, d.points + grid_points(d)};
  const std::int64_t context = std::clamp(d.points / 2, d.context.low, d.context.high - 1);
  return {context, d.target_count ? (d.target_count->low + d.target_count->high - 1) / 2 : d.points - context};
}

TrainingRange GpConfig::training_range() const {
  const GpDistribution& d = distribution_;
  double variance = 0, widest = 0, narrowest = std::numeric_limits<double>::infinity();
  for (const KernelPrior& kernel : d.kernels) {
    variance += kernel.scale.mean_square();
    widest = std::max(widest, support(kernel.scale).high);
    narrowest = std::min(narrowest, support(kernel.scale).low);
  }
  return {.inputs = {d.low, d.high},
          .min_context = d.context.low,
          .max_context = d.context.high - 1,
          .value_std = std::sqrt(variance / static_cast<double>(d.kernels.size())),
          .target_noise = d.target_noise,
          .widest_std = widest,
          .narrowest_std = narrowest,
          .context_noise = d.context_noise};
}

Batch GpConfig::picture(std::int64_t tasks, std::uint64_t seed) const {
  if (distribution_.dims > 1) return TaskConfig::picture(tasks, seed);
  GpDistribution dense = distribution_;
  dense.targets = GpDistribution::Targets::all;
  dense.points = std::max<std::int64_t>(dense.context.high, 2);
  dense.grid = 200;
  dense.target_noise = 0;
  dense.shared = false;
  dense.ragged = true;
  const GpBatch drawn = GpSampler(dense, {tasks, seed, Split::evaluation}).draw(0);
  return {drawn.task,
          std::make_shared<const GpTruth>(drawn.truth.kernels(), dense.context_noise, distribution_.target_noise)};
}

bool GpConfig::batch_size_matters() const {
  return distribution_.ragged && distribution_.targets != GpDistribution::Targets::all;
}

OracleFindings GpConfig::oracle(const OracleOptions& options) const { return gp_oracle(distribution_, options); }

const GpDistribution* gp_distribution(const TaskConfig& config) {
  const auto* gp = dynamic_cast<const GpConfig*>(&config);
  return gp ? &gp->distribution() : nullptr;
}

}  // namespace npzoo
