#pragma once

#include "npzoo/ops/kriging/process.h"

// Orders a context, finds its centre and scales, and brings the kernels of a bank into its units.

namespace npzoo::kriging {

constexpr std::int64_t kMostInputs = 3;  // bounds loops, too: without it g++ 14 warns of reads behind the arrays

/// Spreads the bits of an integer of at most 10 bits: two zeros follow each.
NPZOO_TEAM std::int64_t spread_bits(std::int64_t x) {
  std::int64_t spread = 0;
  for (int bit = 0; bit < 10; ++bit) spread |= (x >> bit & 1) << 3 * bit;
  return spread;
}

/// Returns the number that points are sorted by: near points get near numbers (Morton's curve). NaN if a coordinate is
/// NaN.
template <class T>
NPZOO_TEAM double key(const T* x, std::int64_t dims, const double* low, const double* range) {
  if (dims == 1) return static_cast<double>(x[0]);
  std::int64_t code = 0;
  for (std::int64_t d = 0; d < kMostInputs && d < dims; ++d) {
    if (x[d] != x[d]) return static_cast<double>(x[d]);
    const double share = range[d] > 0 ? (static_cast<double>(x[d]) - low[d]) / range[d] : 0;
    if (share >= 0 && share <= 1) code |= spread_bits(static_cast<std::int64_t>(share * 1023)) << d;
  }
  return static_cast<double>(code);
}

/// Returns the power of a wave of one frequency, from Σc², Σs², Σcs, Σcy and Σsy over its cosines c and sines s at the
/// points.
NPZOO_TEAM double power(double cc, double ss, double cs, double cy, double sy) {
  const double determinant = cc * ss - cs * cs;
  return determinant > 1e-9 * cc * ss ? (ss * cy * cy + cc * sy * sy - 2 * cs * cy * sy) / determinant : 0;
}

/// Returns where the parabola through three powers has its maximum, in steps from the middle one. The middle one is the
/// highest, so the result is in [−½, ½].
NPZOO_TEAM double top(double before, double here, double after) {
  const double bend = before - 2 * here + after;
  return bend < 0 ? 0.5 * (before - after) / bend : 0;
}

/// Finds the two highest peaks of the power at frequencies that differ by a tenth, the highest first.
NPZOO_TEAM void two_periods(const double* power, std::int64_t count, double first, double step, double* periods) {
  double taken = 0;
  for (int slot = 0; slot < 2; ++slot) {
    double best = 0, frequency = 0;
    for (std::int64_t f = 0; f < count; ++f) {
      const bool inside = 0 < f && f + 1 < count;
      const bool peak = (f == 0 || power[f] >= power[f - 1]) && (f + 1 == count || power[f] >= power[f + 1]);
      const double here = first + static_cast<double>(f) * step;
      if (!peak || !(power[f] > best) || (taken > 0 && here > 0.9 * taken && here * 0.9 < taken)) continue;
      best = power[f];
      frequency = inside ? here + step * top(power[f - 1], power[f], power[f + 1]) : here;
    }
    periods[slot] = frequency > 0 ? 1 / frequency : 0;
    taken = frequency;
    if (taken == 0) return;
  }
}

NPZOO_TEAM double nearest(double positive) { return static_cast<double>(static_cast<std::int64_t>(positive + 0.5)); }

/// Moves n ascending places on a line to x₀ + k · step if they are there up to `rounding`. What rounding to T has done
/// to regular places is undone, so that equal distances are equal.
template <class Team>
NPZOO_TEAM void make_regular(const Team& team, std::int64_t n, double rounding, double* x) {
  constexpr double kSparse = 4, kSure = 1e-2;  // steps for each place; most rounding, in steps
  if (n < 3) return;
  const double first = x[0], span = x[n - 1] - first;
  const double gap = team.least(n - 1, [=](std::int64_t i) {
    const double next = x[i + 1] - x[i];
    return next > 0 ? next : __builtin_huge_val();
  });
  if (!(span >= gap && span < kSparse * static_cast<double>(n) * gap && rounding < kSure * gap)) return;
  const double step = span / nearest(span / gap);
  const double closest = team.least(n, [=](std::int64_t i) {
    const double off = x[i] - first - nearest((x[i] - first) / step) * step;
    return off < 0 ? off : -off;
  });
  if (-closest <= rounding) team.each(n, [=](std::int64_t i) { x[i] = first + nearest((x[i] - first) / step) * step; });
}

/// Writes the values minus their least-squares line into `left`.
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

/// Frequencies from one and a half waves in the range of the context up to the highest that its points resolve, a
/// quarter of a wave apart.
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

/// Returns a kernel of a bank with length scales in units of x, and the period instead of the period's number. If the
/// context has no such period, the kernel is impossible.
NPZOO_TEAM KrigingKernel for_context(KrigingKernel kernel, const double* scales) {
  if (kernel.relative > 0)
    for (double& inverse : kernel.inverse_length) inverse /= scales[2];
  kernel.relative = 0;
  const double number = kernel.period;
  kernel.period = !waves(kernel) ? 0 : number == 0 ? scales[0] : number == 1 ? scales[1] : 0;
  if (waves(kernel) && !(kernel.period > 0)) kernel.log_weight = kImpossible;
  kernel.log_evidence = kImpossible;
  return kernel;
}

/// True if point i comes before point j. Keys that are NaN are last, and equal keys keep their order. No two points are
/// equal, so that a sort gives a permutation for any values.
NPZOO_TEAM bool is_before(const double* keys, std::int64_t i, std::int64_t j) {
  const double a = keys[i], b = keys[j];
  if (a < b) return true;
  if (b < a) return false;
  const bool a_is_nan = a != a, b_is_nan = b != b;
  return a_is_nan == b_is_nan ? i < j : b_is_nan;
}

template <class Team, class T>
NPZOO_TEAM void order_context(const Team& team, const KrigingContexts<T>& p, std::int64_t b) {
  const std::int64_t n = length(p, b), dims = p.dims, first = b * p.points;
  const T* const x = p.x + first * dims;
  double* const work = p.work + b * context_work(p.points);
  double *const keys = work, *const scales = work + context_work(p.points) - 3;
  std::int64_t *const order = p.order + first, *const room = reinterpret_cast<std::int64_t*>(work + p.points);
  double low[kMostInputs] = {}, range[kMostInputs] = {}, centre[kMostInputs] = {}, extent = 0;
  for (std::int64_t d = 0; d < dims; ++d) {
    low[d] = team.least(n, [=](std::int64_t i) { return static_cast<double>(x[i * dims + d]); });
    const double high = -team.least(n, [=](std::int64_t i) { return -static_cast<double>(x[i * dims + d]); });
    range[d] = high - low[d];
    centre[d] = n > 0 ? low[d] / 2 + high / 2 : 0;
    extent += range[d];
  }
  extent /= static_cast<double>(dims);
  team.each(1, [=](std::int64_t) {
    double cells = static_cast<double>(n);  // along one input
    if (dims == 2) cells = team.sqrt(cells);
    if (dims == 3) cells = team.exp(team.log(cells) / 3);
    scales[2] = extent > 0 ? extent / cells : 1;
    for (std::int64_t d = 0; d < dims; ++d) p.centre[b * dims + d] = centre[d];
  });
  team.each(n, [=](std::int64_t i) {
    keys[i] = key(x + i * dims, dims, low, range);
    order[i] = i;
  });
  team.sort(n, order, room, [=](std::int64_t i, std::int64_t j) { return is_before(keys, i, j); });
  team.each(n, [=](std::int64_t i) {
    p.values[first + i] = static_cast<double>(p.y[first + order[i]]);
    for (std::int64_t d = 0; d < dims; ++d)
      p.places[(first + i) * dims + d] = static_cast<double>(x[order[i] * dims + d]) - centre[d];
  });
  if (dims == 1) {
    constexpr double kUnit = sizeof(T) == sizeof(float) ? 0x1p-23 : 0x1p-52;
    const double largest = range[0] / 2 + (centre[0] < 0 ? -centre[0] : centre[0]);
    make_regular(team, n, 2 * kUnit * largest, p.places + first);
  }
  if (dims == 1)
    find_periods(team, n, p.places + first, p.values + first, work, scales);
  else
    team.each(2, [=](std::int64_t i) { scales[i] = 0; });
  team.each(p.members, [=](std::int64_t k) { p.kernels[b * p.members + k] = for_context(p.bank[k], scales); });
}

}  // namespace npzoo::kriging
