#pragma once

#include "ops/kriging/process.h"

// What the kernels that were kept say of points.

namespace npzoo::kriging {

constexpr std::int64_t kColumns = 64;  // targets that are solved for at a time

NPZOO_TEAM double largest(double a, double b) { return a > b ? a : b; }

constexpr std::int64_t predict_work(std::int64_t n) {
  return points_work(n) + factor_work(n) + n * kColumns + points_work(kColumns);
}

/// Relative to the best kernel's.
template <class Team>
NPZOO_TEAM double weight(const Team& team, const KrigingKernel& kernel, const KrigingKernel& best) {
  const double log_weight = kernel.log_evidence - best.log_evidence;
  return log_weight > kLeastKrigingLogWeight ? team.exp(log_weight) : 0;
}

/// v ← L⁻¹ of the covariances with `columns` targets from `begin` on, or of unit vectors where the points of the
/// context are the targets: these are 0 before row `begin`, which then is the first one of v.
template <class Team, class T>
NPZOO_TEAM void solve_for(const Team& team, const KrigingPredict<T>& p, const KrigingKernel& kernel, const Factor& f,
                          const Points& points, const Points& targets, std::int64_t begin, std::int64_t columns,
                          double* v) {
  if (p.x) {
    team.covariances(kernel, points, targets, false, v, columns);
    team.solve(f.n, f.a, f.n, f.diagonals, columns, v);
    return;
  }
  const std::int64_t rows = f.n - begin;
  team.each(rows * columns, [=](std::int64_t i) { v[i] = i / columns == i % columns ? 1 : 0; });
  team.solve(rows, f.a + begin * (f.n + 1), f.n, f.diagonals + begin * kTile, columns, v);
}

/// What kernel `s` says of each target: mean and variance. Nothing where its weight is 0.
template <class Team, class T>
NPZOO_TEAM void predict(const Team& team, const KrigingPredict<T>& p, std::int64_t b, std::int64_t s, double* work) {
  const std::int64_t n = length(p, b), dims = p.dims, first = b * p.points;
  const KrigingKernel kernel = p.kernels[b * p.keep + s];
  if (!(weight(team, kernel, p.kernels[b * p.keep]) > 0)) return;
  const Points points = gather(team, p.places + first * dims, n, dims, work);
  const Factor f = factor_in(work + points_work(n), n);
  double *const v = f.a + factor_work(n), *const of_targets = v + n * kColumns;
  turn(team, points, kernel.period);
  team.covariances(kernel, points, points, true, f.a, n);
  factorise(team, f, kernel.noise, p.values + first);
  double *const mean = p.each + (b * p.keep + s) * 2 * p.targets, *const variance = mean + p.targets;
  const double* const y = p.values + first;
  const std::int64_t count = p.x ? p.targets : n;
  for (std::int64_t begin = 0; begin < count; begin += kColumns) {
    const std::int64_t columns = count - begin < kColumns ? count - begin : kColumns;
    Points targets{};
    if (p.x) {
      targets = gather(team, p.x + (b * p.targets + begin) * dims, columns, dims, of_targets);
      turn(team, targets, kernel.period);
    }
    solve_for(team, p, kernel, f, points, targets, begin, columns, v);
    const std::int64_t before = p.x ? 0 : begin;  // rows of zeros
    team.explained(n - before, columns, v, f.white + before, mean + begin, variance + begin);
    team.each(columns, [=](std::int64_t c) {
      double& of_mean = mean[begin + c];
      double& of_variance = variance[begin + c];
      if (!p.x) {  // Dubrule, "Cross validation of kriging in a unique neighborhood", 1983
        of_mean = y[begin + c] - of_mean / of_variance;
        of_variance = kernel.variance / of_variance;
        return;
      }
      double prior = 1 + kMeanVariance;
      for (std::int64_t d = 0; d < dims; ++d)
        prior += kernel.trend * targets.inputs[d * columns + c] * targets.inputs[d * columns + c];
      of_variance = kernel.variance * (largest(prior - of_variance, kJitter) + kernel.noise);
    });
  }
}

/// The kernels' Gaussians as one.
template <class Team, class T>
NPZOO_TEAM void average(const Team& team, const KrigingPredict<T>& p, std::int64_t b) {
  const std::int64_t n = length(p, b), count = p.x ? p.targets : n, first = b * p.targets;
  const KrigingKernel* const kernels = p.kernels + b * p.keep;
  const double* const each = p.each + b * p.keep * 2 * p.targets;
  team.each(p.targets, [=](std::int64_t i) {
    std::int64_t at = first + i;
    if (i >= count) {
      p.mean[at] = p.spread[at] = 0;
      p.std[at] = 1;
      return;
    }
    double total = 0, mean = 0;
    for (std::int64_t s = 0; s < p.keep; ++s) {
      const double share = weight(team, kernels[s], kernels[0]);
      total += share;
      if (share > 0) mean += share * each[2 * s * p.targets + i];
    }
    mean /= total;
    double within = 0, between = 0;
    for (std::int64_t s = 0; s < p.keep; ++s) {
      const double share = weight(team, kernels[s], kernels[0]) / total;
      if (!(share > 0)) continue;
      const double off = each[2 * s * p.targets + i] - mean;
      within += share * each[(2 * s + 1) * p.targets + i];
      between += share * off * off;
    }
    if (!p.x) at = first + p.order[first + i];
    p.mean[at] = static_cast<T>(mean);
    p.std[at] = static_cast<T>(team.sqrt(within + between));
    p.spread[at] = static_cast<T>(team.sqrt(between / (within + between)));
  });
}

}  // namespace npzoo::kriging
