#pragma once

#include "npzoo/engine/team.h"
#include "npzoo/ops/kriging/kernels.h"

// A Gaussian process at the points of one task, by a Team that also does:
//
//   count(counter)                adds 1 atomically, by the thread that calls it
//   periodogram(n, x, y, count, first, step, power, work)
//                                 power[f] = power of y at the frequency first + f step; work has 2 n doubles
//   covariances(kernel, rows, columns, lower, out, stride)
//                                 out(i, j) of two sets of points; only j ≤ i if `lower`
//   slopes(kernel, rows, columns, input, out, stride)
//                                 their derivatives with respect to an input of the columns
//   copy(n, from, to)             copies the lower triangle of (n, n)
//   factorise(n, a, stride, diagonals)
//                                 a ← L with L Lᵀ = a, below and on the diagonal
//   solve(n, a, stride, diagonals, columns, v)
//                                 v (n, columns) ← L⁻¹ v; the bits of a column do not depend on the others
//   solve_vector(n, a, stride, v)
//                                 the same for one column, with other rounding
//   evidences(kernels, count, points, y, work, squares, log_of_l)
//                                 adds |L⁻¹ y|² and log |L| of each possible kernel with noise; search.h has the text
//   explained(n, columns, v, other, white, mean, product)
//                                 Σ over the rows of v (n, columns) times white, and of v times other, for each column
//
// `diagonals` are what `factorise` leaves for `solve`: n · kTile doubles. Included by kernel sources only.

namespace npzoo::kriging {

constexpr std::int64_t kTile = 16;
constexpr double kTwoPi = 6.28318530717958647693;
constexpr double kMeanVariance = 4;  // of the unknown mean, over that of the process
constexpr double kJitter = 2e-9;     // added to the diagonal of a covariance matrix, over the mean of the diagonal
constexpr double kImpossible = -__builtin_huge_val();  // logarithm of a weight

/// True if the kernel has a periodic part.
NPZOO_TEAM bool waves(const KrigingKernel& k) { return k.share > 0 && k.inverse_width > 0; }

/// True if two kernels differ at most in noise.
NPZOO_TEAM bool same_without_noise(const KrigingKernel& a, const KrigingKernel& b) {
  bool same = a.smoothness == b.smoothness && a.relative == b.relative && a.trend == b.trend && a.share == b.share &&
              a.period == b.period && a.inverse_width == b.inverse_width && a.ratio == b.ratio;
  for (int d = 0; d < 3; ++d) same = same && a.inverse_length[d] == b.inverse_length[d];
  return same;
}

/// Points, input by input, and the phase of each for the periodic part.
struct Points {
  std::int64_t count, dims;
  double* inputs;  // (3, count)
  double* cosine;  // of 2π x / period; `set_phases` sets it
  double* sine;
};

/// Returns how many doubles Points need.
constexpr std::int64_t points_work(std::int64_t count) { return 5 * count; }

/// Copies points relative to `centre`. It is null if they are so already.
template <class Team, class T>
NPZOO_TEAM Points gather(const Team& team, const T* x, const double* centre, std::int64_t count, std::int64_t dims,
                         double* work) {
  const Points points{count, dims, work, work + 3 * count, work + 4 * count};
  team.each(count, [=](std::int64_t i) {
    for (std::int64_t d = 0; d < dims; ++d)
      points.inputs[d * count + i] = static_cast<double>(x[i * dims + d]) - (centre ? centre[d] : 0);
  });
  return points;
}

/// Computes the phases of points in a period. A period of 0 means that there is none.
template <class Team>
NPZOO_TEAM void set_phases(const Team& team, const Points& points, double period) {
  const double frequency = period > 0 ? kTwoPi / period : 0;
  team.each(points.count, [=](std::int64_t i) {
    points.cosine[i] = frequency > 0 ? team.cos(frequency * points.inputs[i]) : 1;
    points.sine[i] = frequency > 0 ? team.sin(frequency * points.inputs[i]) : 0;
  });
}

/// Returns 1, 1 + s or 1 + s + s² / 3, times exp(−s), where s = √(2ν) r. V is a number of a GPU or a register of a CPU.
template <class V, class Math>
NPZOO_TEAM V matern(double smoothness, V r, const Math& math) {
  if (smoothness < 0.5) return math.exp(-r);
  const V s = r * (smoothness < 1.5 ? 1.73205080756887729353 : 2.23606797749978969641);
  const V rough = s + 1.0;
  return (smoothness < 1.5 ? rough : rough + s * s * (1.0 / 3.0)) * math.exp(-s);
}

/// Returns the covariance of two places (see KrigingKernel). `distance` is r, `cosine` is cos(2π d / period), and `dot`
/// is (x − c) · (x′ − c).
template <class V, class Math>
NPZOO_TEAM V covariance(const KrigingKernel& k, V distance, V cosine, V dot, const Math& math) {
  V sum = matern(k.smoothness, distance, math) * (1.0 - k.share) + kMeanVariance + dot * k.trend;
  if (k.share > 0) {
    const V second = matern(2.0, distance * k.ratio, math) * k.share;
    sum += k.inverse_width > 0 ? math.exp((cosine - 1.0) * k.inverse_width) * second : second;
  }
  return sum;
}

/// Returns the derivative of `matern` divided by r. Times u it is the derivative along an input that adds u² to r². For
/// ν = ½ there is an edge at r = 0. The result is finite there, so that its product with u = 0 is 0.
template <class V, class Math>
NPZOO_TEAM V matern_slope(double smoothness, V r, const Math& math) {
  constexpr double kLeast = 1e-150;
  if (smoothness < 0.5) return -math.exp(-r) / (r + kLeast);
  if (smoothness < 1.5) return math.exp(r * -1.73205080756887729353) * -3.0;
  const V s = r * 2.23606797749978969641;
  return (s + 1.0) * math.exp(-s) * (-5.0 / 3.0);
}

/// Returns the derivative of `covariance` with respect to one input of the second place. That input is `here` at the
/// first place and `here` + `along` at the second. `square` is 1 / (its length scale)², `sine` is sin(2π along /
/// period).
template <class V, class Math>
NPZOO_TEAM V covariance_slope(const KrigingKernel& k, V distance, V cosine, V sine, V along, double here, double square,
                              const Math& math) {
  const V moved = along * square;
  V sum = matern_slope(k.smoothness, distance, math) * moved * (1.0 - k.share) + here * k.trend;
  if (k.share > 0) {
    V second = matern_slope(2.0, distance * k.ratio, math) * moved * (k.ratio * k.ratio);
    if (k.inverse_width > 0) {
      const double frequency = k.period > 0 ? kTwoPi / k.period : 0;
      const V turned = matern(2.0, distance * k.ratio, math) * sine * (k.inverse_width * frequency);
      second = (second - turned) * math.exp((cosine - 1.0) * k.inverse_width);
    }
    sum += second * k.share;
  }
  return sum;
}

template <class T>
NPZOO_TEAM std::int64_t length(const T& p, std::int64_t b) {
  return p.lengths ? p.lengths[b] : p.points;
}

/// The Cholesky factor L of a covariance matrix with noise, and L⁻¹ y.
struct Factor {
  std::int64_t n;
  double* a;          // (n, n)
  double* diagonals;  // (n, kTile)
  double* white;      // (n)
};

/// Returns how many doubles Factor needs.
constexpr std::int64_t factor_work(std::int64_t n) { return n * (n + kTile + 1); }

NPZOO_TEAM Factor factor_in(double* work, std::int64_t n) { return {n, work, work + n * n, work + n * (n + kTile)}; }

/// Factorises the covariance matrix that `fill` writes to f.a, with noise and jitter on its diagonal. If rounding
/// leaves no factor, tries 10 and 100 times the jitter, as psd_safe_cholesky of GPyTorch does. The factor is NaN if
/// that fails. Returns the jitter.
template <class Team, class Fill>
NPZOO_TEAM double factorise(const Team& team, const Factor& f, double noise, const double* y, const Fill& fill) {
  const std::int64_t n = f.n;
  double jitter = 0;
  for (int more = 1; n > 0 && more <= 100; more *= 10) {
    fill();
    const double mean = team.sum(n, [=](std::int64_t i) { return f.a[i * (n + 1)]; }) / static_cast<double>(n);
    jitter = more * kJitter * mean;
    team.each(n, [=](std::int64_t i) { f.a[i * (n + 1)] += noise + jitter; });
    team.factorise(n, f.a, n, f.diagonals);
    const double last = team.sum(1, [=](std::int64_t) { return f.a[n * n - 1]; });  // NaN spreads to the last row
    if (last > 0 || !(mean < __builtin_huge_val())) break;
  }
  team.each(n, [=](std::int64_t i) { f.white[i] = y[i]; });
  team.solve_vector(n, f.a, n, f.white);
  return jitter;
}

}  // namespace npzoo::kriging
