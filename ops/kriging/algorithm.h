#pragma once

#include "ops/kriging/kernels.h"

// The algorithm of one task, for one thread of a CPU and for a block of a GPU alike. A Team does it:
//
//   each(n, f)                   f(i) for all i in [0, n), in any order; all of it is done, for all to see, when it
//   returns sum(n, f)                    Σ f(i), the same in every thread log, sqrt, cos, sin          of a double
//   periodogram(n, x, y, count, first, step, power, work)
//                                power[f] = of y at the frequency first + f step; work of 2 n doubles
//   covariances(kernel, rows, columns, lower, out, stride)
//                                out(i, j) of two sets of points; only j ≤ i where `lower`
//   copy(n, from, to)            the lower triangle of (n, n)
//   factorise(n, a, stride, diagonals)
//                                a ← L with L Lᵀ = a, below and on the diagonal
//   solve(n, a, stride, diagonals, columns, v)
//                                v (n, columns) ← L⁻¹ v
//
// `diagonals` are what `factorise` leaves for `solve`: n · kTile doubles. Included by kernel sources only.

#ifdef __CUDACC__
#define NPZOO_TEAM __device__ inline
#else
#define NPZOO_TEAM inline
#endif

namespace npzoo::kriging {

constexpr std::int64_t kTile = 16;
constexpr std::int64_t kColumns = 64;  // targets that are solved for at a time
constexpr double kTwoPi = 6.28318530717958647693;
constexpr double kMeanVariance = 4;  // of the unknown mean, over that of the process
constexpr double kJitter = 1e-8;
constexpr double kLeastKrigingLogWeight = -12;  // logarithm of a weight, relative to the best kernel's
constexpr double kShape = 2, kRate = 1;         // of the inverse-gamma prior of the process's variance

NPZOO_TEAM double largest(double a, double b) { return a > b ? a : b; }

/// Whether it has a part that repeats itself.
NPZOO_TEAM bool waves(const KrigingKernel& k) { return k.share > 0 && k.inverse_width > 0; }

/// Points, input by input, and what the periodic part needs of each.
struct Points {
  std::int64_t count, dims;
  double* inputs;  // (3, count)
  double* cosine;  // of 2π x / period
  double* sine;
};

/// Doubles that Points need.
constexpr std::int64_t points_work(std::int64_t count) { return 5 * count; }

template <class Team, class T>
NPZOO_TEAM Points gather(const Team& team, const KrigingKernel& kernel, const T* x, std::int64_t count,
                         std::int64_t dims, double* work) {
  const Points points{count, dims, work, work + 3 * count, work + 4 * count};
  const double frequency = waves(kernel) && kernel.period > 0 ? kTwoPi / kernel.period : 0;
  team.each(count, [=](std::int64_t i) {
    for (std::int64_t d = 0; d < dims; ++d) points.inputs[d * count + i] = static_cast<double>(x[i * dims + d]);
    points.cosine[i] = frequency > 0 ? team.cos(frequency * points.inputs[i]) : 1;
    points.sine[i] = frequency > 0 ? team.sin(frequency * points.inputs[i]) : 0;
  });
  return points;
}

/// 1, 1 + s or 1 + s + s² / 3, times exp(−s), where s = √(2ν) r. V is a number of a GPU or a register of a CPU.
template <class V, class Math>
NPZOO_TEAM V matern(double smoothness, V r, const Math& math) {
  if (smoothness < 0.5) return math.exp(-r);
  const V s = r * (smoothness < 1.5 ? 1.73205080756887729353 : 2.23606797749978969641);
  const V rough = s + 1.0;
  return (smoothness < 1.5 ? rough : rough + s * s * (1.0 / 3.0)) * math.exp(-s);
}

/// `distance` is over the length scales, `cosine` that of the waves' angle, `dot` x · x′.
template <class V, class Math>
NPZOO_TEAM V covariance(const KrigingKernel& k, V distance, V cosine, V dot, const Math& math) {
  V sum = matern(k.smoothness, distance, math) * (1.0 - k.share) + kMeanVariance + dot * k.trend;
  if (k.share > 0) {
    const V second = matern(2.0, distance * k.ratio, math) * k.share;
    sum += k.inverse_width > 0 ? math.exp((cosine - 1.0) * k.inverse_width) * second : second;
  }
  return sum;
}

template <class T>
NPZOO_TEAM std::int64_t length(const T& p, std::int64_t b) {
  return p.lengths ? p.lengths[b] : p.points;
}

/// The bits of an integer of at most 10 bits, two zeros between them.
NPZOO_TEAM std::int64_t spread_bits(std::int64_t x) {
  std::int64_t spread = 0;
  for (int bit = 0; bit < 10; ++bit) spread |= (x >> bit & 1) << 3 * bit;
  return spread;
}

/// A number by which points are ordered: near points get near numbers (Morton's curve).
template <class T>
NPZOO_TEAM double key(const T* x, std::int64_t dims, const double* low, const double* range) {
  if (dims == 1) return static_cast<double>(x[0]);
  std::int64_t code = 0;
  for (std::int64_t d = 0; d < dims; ++d) {
    const double share = range[d] > 0 ? (static_cast<double>(x[d]) - low[d]) / range[d] : 0;
    if (share >= 0 && share <= 1) code |= spread_bits(static_cast<std::int64_t>(share * 1023)) << d;
  }
  return static_cast<double>(code);
}

/// How much a wave of one frequency explains, from Σc², Σs², Σcs, Σcy and Σsy over its cosines and sines at the points.
NPZOO_TEAM double power(double cc, double ss, double cs, double cy, double sy) {
  const double determinant = cc * ss - cs * cs;
  return determinant > 1e-9 * cc * ss ? (ss * cy * cy + cc * sy * sy - 2 * cs * cy * sy) / determinant : 0;
}

/// Highest peaks of the power first, at frequencies that differ by a tenth.
NPZOO_TEAM void two_periods(const double* power, std::int64_t count, double first, double step, double* periods) {
  double best = 0, taken = 0;
  for (int slot = 0; slot < 2; ++slot) {
    double frequency = 0;
    best = 0;
    for (std::int64_t f = 0; f < count; ++f) {
      const bool peak = (f == 0 || power[f] >= power[f - 1]) && (f + 1 == count || power[f] >= power[f + 1]);
      const double here = first + static_cast<double>(f) * step;
      if (!peak || !(power[f] > best) || (taken > 0 && here > 0.9 * taken && here * 0.9 < taken)) continue;
      best = power[f];
      frequency = here;
    }
    periods[slot] = frequency > 0 ? 1 / frequency : 0;
    taken = frequency;
    if (taken == 0) return;
  }
}

/// Values without the straight line that fits them best, into `left`.
template <class Team>
NPZOO_TEAM void detrend(const Team& team, std::int64_t n, const double* x, const double* y, double* left) {
  const double count = static_cast<double>(n);
  const double mean_x = team.sum(n, [=](std::int64_t i) { return x[i]; }) / count,
               mean_y = team.sum(n, [=](std::int64_t i) { return y[i]; }) / count;
  const double xx = team.sum(n, [=](std::int64_t i) { return (x[i] - mean_x) * (x[i] - mean_x); });
  const double xy = team.sum(n, [=](std::int64_t i) { return (x[i] - mean_x) * (y[i] - mean_y); });
  const double slope = xx > 0 ? xy / xx : 0;
  team.each(n, [=](std::int64_t i) { left[i] = y[i] - mean_y - slope * (x[i] - mean_x); });
}

/// Frequencies from one and a half waves in the range of the context up to what its points can tell, a quarter of a
/// wave apart.
template <class Team>
NPZOO_TEAM void find_periods(const Team& team, std::int64_t n, const double* x, const double* y, double* work,
                             double* periods) {
  const double span = n > 0 ? x[n - 1] - x[0] : 0;
  if (n < kFewestForPeriod || !(span > 0)) {
    team.each(2, [=](std::int64_t i) { periods[i] = 0; });
    return;
  }
  const double most = static_cast<double>(n) / 2.2 < 120 ? static_cast<double>(n) / 2.2 : 120;
  const auto count = static_cast<std::int64_t>((most - 1.5) * 4);
  double *const left = work, *const power = work + 3 * n;
  detrend(team, n, x, y, left);
  team.periodogram(n, x, left, count, 1.5 / span, 0.25 / span, power, work + n);
  team.each(1, [=](std::int64_t) { two_periods(power, count, 1.5 / span, 0.25 / span, periods); });
}

template <class Team, class T>
NPZOO_TEAM void order_context(const Team& team, const KrigingContexts<T>& p, std::int64_t b) {
  const std::int64_t n = length(p, b), dims = p.dims, first = b * p.points;
  const T* const x = p.x + first * dims;
  double* const work = p.work + b * context_work(p.points);
  double *const keys = work, *const low = work + 3 * p.points, *const range = low + 3;
  double* const scales = p.scales + 3 * b;
  if (n > 0)
    team.each(1, [=](std::int64_t) {
      double extent = 0;
      for (std::int64_t d = 0; d < dims; ++d) {
        double least = x[d], most = x[d];
        for (std::int64_t i = 1; i < n; ++i) {
          const double at = x[i * dims + d];
          if (at < least) least = at;
          if (at > most) most = at;
        }
        extent += most - least;
        low[d] = least;
        range[d] = most - least;
      }
      extent /= static_cast<double>(dims);
      double cells = static_cast<double>(n);  // along one input
      if (dims == 2) cells = team.sqrt(cells);
      if (dims == 3) cells = team.exp(team.log(cells) / 3);
      scales[2] = extent > 0 ? extent / cells : 1;
    });
  team.each(n, [=](std::int64_t i) { keys[i] = key(x + i * dims, dims, low, range); });
  team.each(n, [=](std::int64_t i) {
    std::int64_t rank = 0;
    for (std::int64_t j = 0; j < n; ++j) rank += keys[j] < keys[i] || (!(keys[j] > keys[i]) && j < i);
    p.order[first + rank] = i;
    p.values[first + rank] = static_cast<double>(p.y[first + i]);
    for (std::int64_t d = 0; d < dims; ++d) p.places[(first + rank) * dims + d] = static_cast<double>(x[i * dims + d]);
  });
  if (n == 0) team.each(1, [=](std::int64_t) { scales[2] = 1; });
  if (dims == 1)
    find_periods(team, n, p.places + first, p.values + first, work, scales);
  else
    team.each(2, [=](std::int64_t i) { scales[i] = 0; });
}

/// A kernel of a bank, for a context: its length scales in units of x, its period in place of the period's number.
NPZOO_TEAM KrigingKernel for_context(KrigingKernel kernel, const double* scales) {
  if (kernel.relative > 0)
    for (double& inverse : kernel.inverse_length) inverse /= scales[2];
  kernel.period = waves(kernel) ? scales[static_cast<int>(kernel.period)] : 0;
  return kernel;
}

/// Work of a factorised covariance of n points, that of weighing a kernel, and that of predictions.
constexpr std::int64_t factor_work(std::int64_t n) { return n * (n + kTile + 1) + points_work(n); }
constexpr std::int64_t weigh_work(std::int64_t n) { return factor_work(n) + n * n; }
constexpr std::int64_t predict_work(std::int64_t n) { return factor_work(n) + n * kColumns + points_work(kColumns); }

/// A covariance matrix with noise, factorised, and L⁻¹ y.
struct Factor {
  std::int64_t n;
  double* a;          // (n, n)
  double* diagonals;  // (n, kTile)
  double* white;      // (n)
  Points points;
};

/// `without_noise` (n, n) is the covariance matrix, or null; where `known` it is there already.
template <class Team>
NPZOO_TEAM Factor factor(const Team& team, const KrigingKernel& kernel, const double* x, const double* y,
                         std::int64_t n, std::int64_t dims, double* work, double* without_noise = nullptr,
                         bool known = false) {
  double *const a = work, *const diagonals = a + n * n, *const white = diagonals + n * kTile;
  const Points points = gather(team, kernel, x, n, dims, white + n);
  if (!known) team.covariances(kernel, points, points, true, without_noise ? without_noise : a, n);
  if (without_noise) team.copy(n, without_noise, a);
  team.each(n, [=](std::int64_t i) {
    a[i * n + i] += kernel.noise + kJitter;
    white[i] = y[i];
  });
  team.factorise(n, a, n, diagonals);
  team.solve(n, a, n, diagonals, 1, white);
  return {n, a, diagonals, white, points};
}

/// Whether two kernels of a bank differ in noise alone.
NPZOO_TEAM bool same_without_noise(const KrigingKernel& a, const KrigingKernel& b) {
  bool same = a.smoothness == b.smoothness && a.relative == b.relative && a.trend == b.trend && a.share == b.share &&
              a.period == b.period && a.inverse_width == b.inverse_width && a.ratio == b.ratio;
  for (int d = 0; d < 3; ++d) same = same && a.inverse_length[d] == b.inverse_length[d];
  return same;
}

/// log p(values | kernel) up to what is the same for all kernels, and the posterior mean of the process's variance.
/// `follows`: the member before was weighed for the same task just now, with this work.
template <class Team, class T>
NPZOO_TEAM void weigh(const Team& team, const KrigingEvidence<T>& p, std::int64_t b, std::int64_t member, double* work,
                      bool follows) {
  const std::int64_t n = length(p, b), dims = p.dims, first = b * p.points;
  const KrigingKernel kernel = for_context(p.bank[member], p.scales + 3 * b);
  double* const evidence = p.evidence + b * p.members + member;
  double* const variance = p.variance + b * p.members + member;
  if (waves(kernel) && !(kernel.period > 0)) {
    team.each(1, [=](std::int64_t) {
      *evidence = -__builtin_huge_val();
      *variance = 1;
    });
    return;
  }
  const std::int64_t blocks = n > 0 ? (n + kKrigingBlock - 1) / kKrigingBlock : 0;
  const bool known = follows && blocks == 1 && same_without_noise(p.bank[member], p.bank[member - 1]);
  double squares = 0, log_determinant = 0;  // of L
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t begin = n * block / blocks, size = n * (block + 1) / blocks - begin;
    const Factor f = factor(team, kernel, p.places + (first + begin) * dims, p.values + first + begin, size, dims, work,
                            work + factor_work(size), known);
    squares += team.sum(size, [=](std::int64_t i) { return f.white[i] * f.white[i]; });
    log_determinant += team.sum(size, [=](std::int64_t i) { return team.log(f.a[i * size + i]); });
  }
  const double rate = kRate + squares / 2, shape = kShape + static_cast<double>(n) / 2;
  team.each(1, [=](std::int64_t) {
    // The period was chosen out of about as many as half the points can tell apart.
    const double choice = kernel.period > 0 ? team.log(static_cast<double>(n) / 2) : 0;
    *evidence = kernel.log_weight - choice - log_determinant - shape * team.log(rate);
    *variance = rate / (shape - 1);
  });
}

/// The best members of the bank, by one thread.
template <class T>
NPZOO_TEAM void keep_best(const KrigingEvidence<T>& p, std::int64_t b) {
  const double* const evidence = p.evidence + b * p.members;
  std::int64_t taken[kMostKrigingKernels];
  for (std::int64_t s = 0; s < p.keep; ++s) {
    std::int64_t best = -1;
    for (std::int64_t k = 0; k < p.members; ++k) {
      bool free = true;
      for (std::int64_t t = 0; t < s; ++t) free = free && taken[t] != k;
      if (free && (best < 0 || evidence[k] > evidence[best])) best = k;
    }
    taken[s] = best;
    KrigingKernel& kernel = p.kernels[b * p.keep + s];
    kernel = for_context(p.bank[best], p.scales + 3 * b);
    kernel.log_weight = evidence[best];
    kernel.variance = p.variance[b * p.members + best];
  }
}

/// Σ over rows of v times white, and of v², for each column.
/// Rows count from `begin` on, where v begins.
template <class Team>
NPZOO_TEAM void explained(const Team& team, const Factor& f, std::int64_t begin, const double* v, std::int64_t columns,
                          double* mean, double* square) {
  team.each(columns, [=](std::int64_t c) {
    double of_mean = 0, of_square = 0;
    for (std::int64_t i = begin; i < f.n; ++i) {
      const double at = v[(i - begin) * columns + c];
      of_mean += at * f.white[i];
      of_square += at * at;
    }
    mean[c] = of_mean;
    square[c] = of_square;
  });
}

/// Relative to the best kernel's.
template <class Team>
NPZOO_TEAM double weight(const Team& team, const KrigingKernel& kernel, const KrigingKernel& best) {
  const double log_weight = kernel.log_weight - best.log_weight;
  return log_weight > kLeastKrigingLogWeight ? team.exp(log_weight) : 0;
}

/// v ← L⁻¹ of the covariances with `columns` targets from `begin` on, or of unit vectors where the points of the
/// context are the targets: these are 0 before row `begin`, which then is the first one of v.
template <class Team, class T>
NPZOO_TEAM void solve_for(const Team& team, const KrigingPredict<T>& p, const KrigingKernel& kernel, const Factor& f,
                          const Points& targets, std::int64_t begin, std::int64_t columns, double* v) {
  if (p.x) {
    team.covariances(kernel, f.points, targets, false, v, columns);
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
  const Factor f = factor(team, kernel, p.places + first * dims, p.values + first, n, dims, work);
  double *const v = work + factor_work(n), *const of_points = v + n * kColumns;
  double *const mean = p.each + (b * p.keep + s) * 2 * p.targets, *const variance = mean + p.targets;
  const double* const y = p.values + first;
  const std::int64_t count = p.x ? p.targets : n;
  for (std::int64_t begin = 0; begin < count; begin += kColumns) {
    const std::int64_t columns = count - begin < kColumns ? count - begin : kColumns;
    Points points{};
    if (p.x) points = gather(team, kernel, p.x + (b * p.targets + begin) * dims, columns, dims, of_points);
    solve_for(team, p, kernel, f, points, begin, columns, v);
    explained(team, f, p.x ? 0 : begin, v, columns, mean + begin, variance + begin);
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
        prior += kernel.trend * points.inputs[d * columns + c] * points.inputs[d * columns + c];
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
