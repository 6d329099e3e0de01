#include "npzoo/datasets/kinds/synthetic/source.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "npzoo/datasets/kinds/synthetic/config.h"
#include "npzoo/datasets/kinds/synthetic/truth.h"
#include "npzoo/datasets/tables/standardise.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr std::int64_t kFew = 10, kMostTries = 1000;

/// Log-uniform over the integers of [low, high).
std::int64_t log_uniform(std::int64_t low, std::int64_t high, Random& random) {
  const double a = std::log(static_cast<double>(low)), b = std::log(static_cast<double>(high));
  return std::clamp(static_cast<std::int64_t>(std::exp(random.uniform(a, b))), low, high - 1);
}

std::int64_t draw_context(const SyntheticDistribution& d, Random& random) {
  const auto [low, high] = d.context;
  const std::int64_t split = std::clamp(kFew + 1, low, high);
  const bool few = random.uniform() < d.few;
  if (split == low || split == high) return log_uniform(low, high, random);
  return few ? log_uniform(low, split, random) : log_uniform(split, high, random);
}

/// The steps from a process to a table.
struct Observation {
  double freedom = 0;                          // of Student's t; 0: Gaussian noise
  double outlier_share = 0, outlier_size = 0;  // a standard deviation
  double exponent = 0;                         // exp(exponent · y)
  bool clipped = false, rounded = false;
  double floor = 0, quantum = 1;

  Observation(const SyntheticDistribution& d, double noise, Random& random) {
    if (random.uniform() < d.student && noise > d.least_noise) freedom = std::max(2.0, d.freedom.draw(random));
    if (random.uniform() < d.outliers) {
      outlier_share = random.uniform(0.01, 0.06);
      outlier_size = std::max(noise, 0.1) * random.uniform(3, 12);
    }
    if (random.uniform() < d.exponentiated) exponent = random.uniform(0.3, 1.2);
    clipped = random.uniform() < d.clipped;
    rounded = random.uniform() < d.rounded;
    if (clipped) floor = exponent > 0 ? random.uniform(0.3, 1.2) : random.uniform(-1, 0.8);
    if (rounded) quantum = std::exp(random.uniform(std::log(0.02), std::log(0.8)));
  }

  bool gaussian() const { return freedom == 0 && outlier_share == 0 && exponent == 0 && !clipped && !rounded; }

  void apply(double noise, std::vector<double>& y, Random& random) const {
    std::vector<double> z(y.size());
    random.fill_normal(z);
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (freedom > 0) z[i] *= std::sqrt(0.5 * freedom / random.gamma(0.5 * freedom));
      y[i] += noise * z[i];
      if (outlier_share > 0 && random.uniform() < outlier_share) y[i] += outlier_size * random.normal();
      if (exponent > 0) y[i] = std::exp(exponent * y[i]);
      if (clipped) y[i] = std::max(y[i] - floor, 0.0);
      if (rounded) y[i] = quantum * std::round(y[i] / quantum);
    }
  }
};

struct Values {
  std::vector<double> yc, yt;  // standardised
  KnownTask known;
};

/// Nothing where the context says too little about the scale of the values.
std::optional<Values> draw_values(const SyntheticDistribution& d, const Places& places, std::int64_t dense,
                                  Random& random) {
  auto process = std::make_shared<const Process>(draw_process(d, places, random));
  const Observation observation(d, process->noise(), random);
  const double scale = d.scale.draw(random);
  std::vector<double> x = places.xc;
  x.insert(x.end(), places.xt.begin(), places.xt.end());
  std::vector<double> y = process->draw({x, d.dims}, dense, random);
  observation.apply(process->noise(), y, random);
  for (double& v : y) v *= scale;
  const auto nc = static_cast<std::ptrdiff_t>(places.xc.size()) / d.dims;
  const std::vector<double> context(y.begin(), y.begin() + nc), target(y.begin() + nc, y.end());
  const auto [least, largest] = std::ranges::minmax(context);
  if (least != largest && largest - least < 0.1 * d.least_std * scale)
    return {};  // the deviation is at most half of it
  const std::vector<std::string> name(1);
  const Standardisation units = standardise({}, context, {}, name, synthetic_range(d));
  const ValueMap& map = units.values[0];
  if (!map.constant && map.scale < d.least_std * scale) return {};
  Values values{units.map_values(context), units.map_values(target), {std::move(process), scale, map.shift, map.scale}};
  if (observation.gaussian()) return values;
  values.known.process = nullptr;
  const bool bounded = std::ranges::all_of(values.yt, [&](double v) { return std::abs(v) <= 2 / d.least_std; });
  return bounded ? std::optional(std::move(values)) : std::nullopt;
}

Tensor rows(std::int64_t batch, std::int64_t points, std::int64_t width, const std::vector<double>& values,
            const SourceOptions& options) {
  return Tensor::from<double>({batch, points, width}, std::span(values)).to(options.dtype).to(options.device);
}

}  // namespace

SyntheticSource::SyntheticSource(SyntheticDistribution distribution, const SourceOptions& options)
    : distribution_(std::move(distribution)), options_(options) {
  check(options.batch_size > 0, "[synthetic] batch size {}, expected at least 1", options.batch_size);
}

Batch SyntheticSource::batch(std::uint64_t index) const {
  const SyntheticDistribution& d = distribution_;
  // Figures are measured on exact draws.
  const std::int64_t dense = options_.split == Split::evaluation ? d.context.high + d.targets.high : kDense;
  Random random(options_.seed, static_cast<std::uint64_t>(options_.split) << 56 | index);
  const std::int64_t nc = draw_context(d, random), nt = log_uniform(d.targets.low, d.targets.high, random);
  std::vector<double> xc, yc, xt, yt;
  std::vector<KnownTask> known;
  const auto append = [](std::vector<double>& all, const std::vector<double>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  for (std::int64_t tries = 0; std::ssize(known) < options_.batch_size;) {
    const Places places = draw_places(d, nc, nt, random);
    const std::optional<Values> values = draw_values(d, places, dense, random);
    if (!values) {
      check(++tries < kMostTries,
            "[synthetic] {} contexts in a row vary by less than least_std = {}, expected a smaller least_std",
            kMostTries, d.least_std);
      continue;
    }
    tries = 0;
    append(xc, places.xc);
    append(yc, values->yc);
    append(xt, places.xt);
    append(yt, values->yt);
    known.push_back(values->known);
  }
  const bool gaussian = std::ranges::all_of(known, [](const KnownTask& task) { return task.process != nullptr; });
  const std::int64_t b = options_.batch_size;
  return {{rows(b, nc, d.dims, xc, options_), rows(b, nc, 1, yc, options_), rows(b, nt, d.dims, xt, options_),
           rows(b, nt, 1, yt, options_)},
          gaussian ? std::make_shared<const SyntheticTruth>(std::move(known)) : nullptr};
}

}  // namespace npzoo
