#pragma once

#include "npzoo/ops/kriging/process.h"

// Searches a bank for the kernels that explain a context best.

namespace npzoo::kriging {

constexpr double kShape = 2, kRate = 1;  // of the inverse-gamma prior of the process's variance

/// Kernels that are weighed one after the other and share their common results.
constexpr std::int64_t kGroup = 8;
constexpr std::int64_t groups(std::int64_t kernels) { return (kernels + kGroup - 1) / kGroup; }

/// Returns how many doubles evidence_of_each and weigh need.
constexpr std::int64_t group_work(std::int64_t n) { return n * n + factor_work(n); }
constexpr std::int64_t weigh_work(std::int64_t n) { return points_work(n) + group_work(n); }

/// Returns log |L| of a factor. Takes logarithms of products of a few elements, which stay within range.
template <class Team>
NPZOO_TEAM double log_determinant(const Team& team, const Factor& f) {
  constexpr std::int64_t kAtOnce = 8;
  return team.sum((f.n + kAtOnce - 1) / kAtOnce, [=](std::int64_t part) {
    double product = 1;
    for (std::int64_t i = part * kAtOnce; i < f.n && i < (part + 1) * kAtOnce; ++i) product *= f.a[i * (f.n + 1)];
    return team.log(product);
  });
}

/// Team::evidences by one factor after the other. `work` has group_work(n) doubles.
template <class Team>
NPZOO_TEAM void evidence_of_each(const Team& team, const KrigingKernel* kernels, std::int64_t count,
                                 const Points& points, const double* y, double* work, double* squares,
                                 double* log_of_l) {
  const std::int64_t n = points.count;
  double* const without_noise = work;
  const Factor f = factor_in(without_noise + n * n, n);
  const KrigingKernel* before = nullptr;
  for (std::int64_t k = 0; k < count; ++k) {
    const KrigingKernel& kernel = kernels[k];
    if (kernel.log_weight == kImpossible) continue;
    if (!before || kernel.period != before->period) set_phases(team, points, kernel.period);
    if (!before || !same_without_noise(kernel, *before))
      team.covariances(kernel, points, points, true, without_noise, n);
    factorise(team, f, kernel.noise, y, [&] { team.copy(n, without_noise, f.a); });
    squares[k] += team.sum(n, [=](std::int64_t i) { return f.white[i] * f.white[i]; });
    log_of_l[k] += log_determinant(team, f);
    before = &kernel;
  }
}

/// Computes log p(values | kernel) of the kernels of a group, up to terms that all kernels share, and the posterior
/// mean of the process's variance.
template <class Team, class T>
NPZOO_TEAM void weigh(const Team& team, const KrigingWeigh<T>& p, std::int64_t b, std::int64_t group, double* work) {
  const std::int64_t n = length(p, b), dims = p.dims, begin = group * kGroup;
  const std::int64_t count = p.count - begin < kGroup ? p.count - begin : kGroup;
  if (n < p.fewest) return;
  KrigingKernel* const kernels = p.kernels + b * p.count + begin;
  const std::int64_t blocks = (n + p.block - 1) / p.block;
  double squares[kGroup] = {}, log_of_l[kGroup] = {};
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = b * p.points + n * block / blocks, size = n * (block + 1) / blocks - n * block / blocks;
    const Points points = gather(team, p.places + first * dims, nullptr, size, dims, work);
    team.evidences(kernels, count, points, p.values + first, work + points_work(size), squares, log_of_l);
  }
  const double shape = kShape + static_cast<double>(n) / 2;
  for (std::int64_t k = 0; k < count; ++k) {
    const double rate = kRate + squares[k] / 2, known = log_of_l[k];
    team.each(1, [=](std::int64_t) {
      KrigingKernel& kernel = kernels[k];
      // The period was chosen from n / 2 distinguishable ones.
      const double choice = kernel.period > 0 ? team.log(static_cast<double>(n) / 2) : 0;
      if (kernel.log_weight != kImpossible) {
        kernel.log_evidence = kernel.log_weight - choice - known - shape * team.log(rate);
        if (kernel.log_evidence != kernel.log_evidence) team.count(p.failed);
      }
      kernel.variance = rate / (shape - 1);
    });
  }
}

/// True if evidence a is better than b. NaN, the result of a failed factorisation, is the worst.
NPZOO_TEAM bool better(double a, double b) { return a > b || (a == a && b != b); }

/// Keeps the best kernels of a task; one thread does it. Of kernels with equal evidence the first is better.
template <class T>
NPZOO_TEAM void keep_best(const KrigingKeep<T>& p, std::int64_t b) {
  const KrigingKernel* const from = p.kernels + b * p.count;
  std::int64_t taken[kMostKrigingKernels];
  for (std::int64_t s = 0; s < p.keep; ++s) {
    std::int64_t best = -1;
    for (std::int64_t k = 0; k < p.count; ++k) {
      bool free = true;
      for (std::int64_t t = 0; t < s; ++t) free = free && taken[t] != k;
      if (free && (best < 0 || better(from[k].log_evidence, from[best].log_evidence))) best = k;
    }
    taken[s] = best;
    p.kept[b * p.keep + s] = from[best];
  }
}

}  // namespace npzoo::kriging
