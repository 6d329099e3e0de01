#pragma once

#include "npzoo/ops/kriging/process.h"

// Predicts values at points with the kept kernels.

namespace npzoo::kriging {

constexpr std::int64_t kColumns = 64;  // targets that are solved for at a time

/// Returns x, but at least `least`. NaN stays NaN.
NPZOO_TEAM double at_least(double x, double least) { return x < least ? least : x; }

/// Returns how many doubles `predict` needs.
constexpr std::int64_t predict_work(std::int64_t n, bool slopes) {
  return points_work(n) + factor_work(n) + n * kColumns * (slopes ? 2 : 1) + points_work(kColumns);
}

/// Returns the weight of a kernel relative to the best one's.
template <class Team>
NPZOO_TEAM double weight(const Team& team, const KrigingKernel& kernel, const KrigingKernel& best) {
  const double log_weight = kernel.log_evidence - best.log_evidence;
  return log_weight > kLeastKrigingLogWeight ? team.exp(log_weight) : 0;
}

/// v ← L⁻¹ of the covariances with `columns` targets from `begin` on. For leave-one-out the right sides are unit
/// vectors. Their rows before `begin` are 0 and are not stored.
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
  team.each(rows, columns, [=](std::int64_t i, std::int64_t j) { v[i * columns + j] = i == j ? 1 : 0; });
  team.solve(rows, f.a + begin * (f.n + 1), f.n, f.diagonals + begin * kTile, columns, v);
}

/// Computes the slopes of mean and variance of the targets from `begin` on, along each of their inputs. v is the result
/// of `solve_for`, and `work` is as large. Where the variance is at its floor, its slope is 0.
template <class Team, class T>
NPZOO_TEAM void predict_slopes(const Team& team, const KrigingPredict<T>& p, std::int64_t pair, const Factor& f,
                               double floor, const Points& points, const Points& targets, std::int64_t begin,
                               const double* v, double* work) {
  const KrigingKernel kernel = p.kernels[pair];
  const std::int64_t columns = targets.count;
  const double* const variances = p.each + (2 * pair + 1) * p.targets + begin;
  for (std::int64_t d = 0; d < p.dims; ++d) {
    team.slopes(kernel, points, targets, d, work, columns);
    team.solve(f.n, f.a, f.n, f.diagonals, columns, work);
    double *const mean = p.slopes + (pair * p.dims + d) * 2 * p.targets + begin, *const variance = mean + p.targets;
    team.explained(f.n, columns, work, v, f.white, mean, variance);
    team.each(columns, [=](std::int64_t c) {
      const bool least = !(variances[c] > kernel.variance * (floor + kernel.noise));
      const double prior = kernel.trend * targets.inputs[d * columns + c];
      variance[c] = least ? 0 : 2 * kernel.variance * (prior - variance[c]);
    });
  }
}

/// Computes mean and variance of each target under kernel `s`. Does nothing if its weight is 0.
template <class Team, class T>
NPZOO_TEAM void predict(const Team& team, const KrigingPredict<T>& p, std::int64_t b, std::int64_t s, double* work) {
  const std::int64_t n = length(p, b), dims = p.dims, first = b * p.points;
  const KrigingKernel kernel = p.kernels[b * p.keep + s];
  if (!(weight(team, kernel, p.kernels[b * p.keep]) > 0)) return;
  const Points points = gather(team, p.places + first * dims, nullptr, n, dims, work);
  const Factor f = factor_in(work + points_work(n), n);
  double *const v = f.a + factor_work(n), *const of_targets = v + n * kColumns,
                *const of_slopes = of_targets + points_work(kColumns);
  set_phases(team, points, kernel.period);
  const double floor = factorise(team, f, kernel.noise, p.values + first,
                                 [&] { team.covariances(kernel, points, points, true, f.a, n); });
  double *const mean = p.each + (b * p.keep + s) * 2 * p.targets, *const variance = mean + p.targets;
  const double* const y = p.values + first;
  const std::int64_t count = p.x ? p.targets : n;
  for (std::int64_t begin = 0; begin < count; begin += kColumns) {
    const std::int64_t columns = count - begin < kColumns ? count - begin : kColumns;
    Points targets{};
    if (p.x) {
      targets = gather(team, p.x + (b * p.targets + begin) * dims, p.centre + b * dims, columns, dims, of_targets);
      set_phases(team, targets, kernel.period);
    }
    solve_for(team, p, kernel, f, points, targets, begin, columns, v);
    const std::int64_t before = p.x ? 0 : begin;  // rows of zeros
    team.explained(n - before, columns, v, v, f.white + before, mean + begin, variance + begin);
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
      of_variance = kernel.variance * (at_least(prior - of_variance, floor) + kernel.noise);
    });
    if (p.slopes) predict_slopes(team, p, b * p.keep + s, f, floor, points, targets, begin, v, of_slopes);
  }
}

/// The mixture of the kernels' Gaussians.
struct Averaged {
  double total, mean;      // of weights
  double within, between;  // variances
};

/// Averages the kernels at target i.
template <class Team>
NPZOO_TEAM Averaged average_at(const Team& team, const KrigingKernel* kernels, std::int64_t keep, const double* each,
                               std::int64_t targets, std::int64_t i) {
  Averaged all{};
  for (std::int64_t s = 0; s < keep; ++s) {
    const double share = weight(team, kernels[s], kernels[0]);
    all.total += share;
    if (share > 0) all.mean += share * each[2 * s * targets + i];
  }
  all.mean /= all.total;
  if (!(all.total > 0)) all.within = all.mean;  // no kernel has an evidence: all is NaN
  for (std::int64_t s = 0; s < keep; ++s) {
    const double share = weight(team, kernels[s], kernels[0]) / all.total;
    if (!(share > 0)) continue;
    const double off = each[2 * s * targets + i] - all.mean;
    all.within += share * each[(2 * s + 1) * targets + i];
    all.between += share * off * off;
  }
  return all;
}

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
    const Averaged all = average_at(team, kernels, p.keep, each, p.targets, i);
    if (!p.x) at = first + p.order[first + i];
    p.mean[at] = static_cast<T>(all.mean);
    p.std[at] = static_cast<T>(team.sqrt(all.within + all.between));
    p.spread[at] = static_cast<T>(team.sqrt(all.between / (all.within + all.between)));
  });
}

/// If all kernels agree, the spread is 0 and has an edge; its slope counts as 0 there.
template <class Team, class T>
NPZOO_TEAM void backward(const Team& team, const KrigingBackward<T>& p, std::int64_t b) {
  const KrigingKernel* const kernels = p.kernels + b * p.keep;
  const double* const each = p.each + b * p.keep * 2 * p.targets;
  team.each(p.targets, [=](std::int64_t i) {
    const Averaged all = average_at(team, kernels, p.keep, each, p.targets, i);
    const double variance = all.within + all.between, std = team.sqrt(variance),
                 spread = team.sqrt(all.between / variance);
    const std::int64_t at = b * p.targets + i;
    const double d_mean = p.d_mean ? p.d_mean[at] : 0, d_std = p.d_std ? p.d_std[at] / std : 0,
                 d_spread = p.d_spread ? p.d_spread[at] : 0;
    const double of_spread = spread > 0 ? d_spread * all.within / (variance * variance * spread) : 0;
    const double of_variance = (d_std - d_spread * spread / variance) / 2;
    for (std::int64_t d = 0; d < p.dims; ++d) {
      double sum = all.total > 0 ? 0 : all.mean;
      for (std::int64_t s = 0; s < p.keep; ++s) {
        const double share = weight(team, kernels[s], kernels[0]) / all.total;
        if (!(share > 0)) continue;
        const double* const slopes = p.slopes + ((b * p.keep + s) * p.dims + d) * 2 * p.targets + i;
        const double off = each[2 * s * p.targets + i] - all.mean;
        sum += share * ((d_mean + off * (d_std + of_spread)) * slopes[0] + of_variance * slopes[p.targets]);
      }
      p.d_x[at * p.dims + d] = static_cast<T>(sum);
    }
  });
}

}  // namespace npzoo::kriging
