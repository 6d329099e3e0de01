#pragma once

#include "npzoo/engine/team.h"
#include "npzoo/ops/joint_log_density/kernels.h"

// The densities of one task, by a Team. Included by kernel sources only.

namespace npzoo::joint {

constexpr double kLogTwoPi = 1.83787706640934548356;

template <class T>
NPZOO_TEAM std::int64_t count(const JointValues<T>& of, std::int64_t b) {
  return of.lengths ? of.lengths[b] * of.width : of.values;
}

NPZOO_TEAM double absolute_value(double x) { return x < 0 ? -x : x; }

/// white ← L⁻¹ error.
template <class Team, class T>
NPZOO_TEAM void whiten(const Team& team, std::int64_t n, const T* error, const T* factor, std::int64_t stride,
                       double* white) {
  team.each(n, [=](std::int64_t i) { white[i] = error[i]; });
  for (std::int64_t j = 0; j < n; ++j) {
    const double solved = white[j] / static_cast<double>(factor[j * stride + j]);
    team.each(n - j - 1, [=](std::int64_t k) {
      const std::int64_t i = j + 1 + k;
      white[i] -= static_cast<double>(factor[i * stride + j]) * solved;
    });
  }
  team.each(n, [=](std::int64_t i) { white[i] /= static_cast<double>(factor[i * stride + i]); });
}

/// solved ← L⁻ᵀ white.
template <class Team, class T>
NPZOO_TEAM void solve_transposed(const Team& team, std::int64_t n, const T* factor, std::int64_t stride,
                                 const double* white, double* solved) {
  team.each(n, [=](std::int64_t i) { solved[i] = white[i]; });
  for (std::int64_t j = n; j-- > 0;) {
    const double of_j = solved[j] / static_cast<double>(factor[j * stride + j]);
    team.each(j, [=](std::int64_t i) { solved[i] -= static_cast<double>(factor[j * stride + i]) * of_j; });
  }
  team.each(n, [=](std::int64_t i) { solved[i] /= static_cast<double>(factor[i * stride + i]); });
}

template <class Team, class T>
NPZOO_TEAM void density(const Team& team, const CholeskyDensityForward<T>& p, std::int64_t b) {
  const std::int64_t n = count(p.of, b), m = p.of.values;
  const T* const factor = p.factor + b * m * m;
  double* const white = p.work + b * m;
  whiten(team, n, p.of.error + b * m, factor, m, white);
  const double terms = team.sum(n, [=](std::int64_t i) {
    return -0.5 * (white[i] * white[i] + kLogTwoPi) - team.log(absolute_value(static_cast<double>(factor[i * m + i])));
  });
  team.each(1, [=](std::int64_t) { p.out[b] = static_cast<T>(terms); });
}

/// d error = −L⁻ᵀ L⁻¹ error and d L = (L⁻ᵀ white) whiteᵀ − diag(1 / L), of which only the lower triangle counts.
template <class Team, class T>
NPZOO_TEAM void gradients(const Team& team, const CholeskyDensityBackward<T>& p, std::int64_t b) {
  const std::int64_t n = count(p.of, b), m = p.of.values;
  const T* const factor = p.factor + b * m * m;
  double *const white = p.work + 2 * b * m, *const solved = white + m;
  const double d_out = p.d_out[b];
  whiten(team, n, p.of.error + b * m, factor, m, white);
  solve_transposed(team, n, factor, m, white, solved);
  if (p.d_error)
    team.each(m, [=](std::int64_t i) { p.d_error[b * m + i] = static_cast<T>(i < n ? -d_out * solved[i] : 0); });
  if (p.d_factor)
    team.each(m, m, [=](std::int64_t i, std::int64_t j) {
      double d = i < n && j <= i ? solved[i] * white[j] : 0;
      if (i < n && j == i) d -= 1 / static_cast<double>(factor[i * m + i]);
      p.d_factor[(b * m + i) * m + j] = static_cast<T>(d_out * d);
    });
}

/// A task of low rank: its own parts of the tensors, and of the workspace.
template <class T>
struct LowRank {
  std::int64_t n, rank;
  const T* error;
  const T* factor;
  const T* diagonal;
  double* precision;    // (n), 1 / diagonal
  double* solution;     // (rank), C⁻¹ Fᵀ D⁻¹ error, where C = I + Fᵀ D⁻¹ F
  double* capacitance;  // (rank, rank), C = U diag(U)⁻¹ Uᵀ, the lower triangular U below and on the diagonal
};

template <class T, class P>
NPZOO_TEAM LowRank<T> low_rank(const P& p, std::int64_t b, std::int64_t work) {
  const std::int64_t m = p.of.values;
  double* const precision = p.work + b * work;
  return {count(p.of, b),     p.rank,    p.of.error + b * m, p.factor + b * m * p.rank,
          p.diagonal + b * m, precision, precision + m,      precision + m + p.rank};
}

/// x ← C⁻¹ x, by one thread.
template <class T>
NPZOO_TEAM void solve_capacitance(const LowRank<T>& t, double* x) {
  for (std::int64_t k = 0; k < t.rank; ++k) {
    const double* const row = t.capacitance + k * t.rank;
    for (std::int64_t i = 0; i < k; ++i) x[k] -= row[i] * x[i];
    x[k] /= row[k];
  }
  for (std::int64_t k = t.rank; k-- > 0;)
    for (std::int64_t i = 0; i < k; ++i) x[i] -= t.capacitance[k * t.rank + i] / t.capacitance[i * t.rank + i] * x[k];
}

/// Fills the workspace.
template <class Team, class T>
NPZOO_TEAM void factorise(const Team& team, const LowRank<T>& t) {
  team.each(t.n, [=](std::int64_t i) {
    t.precision[i] =
        t.diagonal[i] > 0 ? 1 / static_cast<double>(t.diagonal[i]) : static_cast<double>(__builtin_nan(""));
  });
  team.each(t.rank, t.rank, [=](std::int64_t i, std::int64_t j) {
    if (j > i) return;
    double sum = i == j ? 1 : 0;
    for (std::int64_t v = 0; v < t.n; ++v) {
      const T* const row = t.factor + v * t.rank;
      sum += static_cast<double>(row[i]) * static_cast<double>(row[j]) * t.precision[v];
    }
    t.capacitance[i * t.rank + j] = sum;
  });
  for (std::int64_t k = 0; k < t.rank; ++k) {
    const double pivot = t.capacitance[k * t.rank + k];
    const std::int64_t rest = t.rank - k - 1;
    team.each(rest, rest, [=](std::int64_t below, std::int64_t right) {
      if (right > below) return;
      const std::int64_t i = k + 1 + below, j = k + 1 + right;
      t.capacitance[i * t.rank + j] -= t.capacitance[i * t.rank + k] * t.capacitance[j * t.rank + k] / pivot;
    });
  }
  team.each(t.rank, [=](std::int64_t i) {
    double sum = 0;
    for (std::int64_t v = 0; v < t.n; ++v)
      sum += static_cast<double>(t.factor[v * t.rank + i]) * t.precision[v] * static_cast<double>(t.error[v]);
    t.solution[i] = sum;
  });
  team.each(1, [=](std::int64_t) { solve_capacitance(t, t.solution); });
}

/// The error minus factor · solution: errorᵀ Σ⁻¹ error = Σ rest² / D + |solution|², a sum without cancellation.
template <class T>
NPZOO_TEAM double rest(const LowRank<T>& t, std::int64_t v) {
  double left = t.error[v];
  for (std::int64_t i = 0; i < t.rank; ++i) left -= static_cast<double>(t.factor[v * t.rank + i]) * t.solution[i];
  return left;
}

template <class Team, class T>
NPZOO_TEAM void density(const Team& team, const LowRankDensityForward<T>& p, std::int64_t b) {
  const LowRank<T> t = low_rank<T>(p, b, p.of.values + p.rank + p.rank * p.rank);
  factorise(team, t);
  const double of_values = team.sum(t.n, [=](std::int64_t v) {
    const double left = rest(t, v);
    return -0.5 * (left * left * t.precision[v] - team.log(t.precision[v]) + kLogTwoPi);
  });
  const double of_rank = team.sum(t.rank, [=](std::int64_t i) {
    return -0.5 * (t.solution[i] * t.solution[i] + team.log(t.capacitance[i * t.rank + i]));
  });
  team.each(1, [=](std::int64_t) { p.out[b] = static_cast<T>(of_values + of_rank); });
}

/// With u = Σ⁻¹ error = D⁻¹ rest and P = Σ⁻¹ F = D⁻¹ F C⁻¹: d error = −u, d F = u solutionᵀ − P, and
/// d D = ½ (u² − diag Σ⁻¹), where Σ⁻¹(v, v) = (1 − P(v) · F(v)) / D(v).
template <class Team, class T>
NPZOO_TEAM void gradients(const Team& team, const LowRankDensityBackward<T>& p, std::int64_t b) {
  const std::int64_t m = p.of.values, r = p.rank;
  const LowRank<T> t = low_rank<T>(p, b, m + r + 2 * r * r);
  double* const inverse = t.capacitance + r * r;  // C⁻¹
  const double d_out = p.d_out[b];
  factorise(team, t);
  team.each(r, [=](std::int64_t i) {
    for (std::int64_t j = 0; j < r; ++j) inverse[i * r + j] = i == j ? 1 : 0;
    solve_capacitance(t, inverse + i * r);
  });
  team.each(m, [=](std::int64_t v) {
    const bool counts = v < t.n;
    const double solved = counts ? rest(t, v) * t.precision[v] : 0;
    double explained = 0;  // P(v) · F(v)
    for (std::int64_t i = 0; i < r; ++i) {
      double projected = 0;
      if (counts) {
        for (std::int64_t j = 0; j < r; ++j) projected += static_cast<double>(t.factor[v * r + j]) * inverse[i * r + j];
        projected *= t.precision[v];
        explained += projected * static_cast<double>(t.factor[v * r + i]);
      }
      if (p.d_factor)
        p.d_factor[(b * m + v) * r + i] = static_cast<T>(counts ? d_out * (solved * t.solution[i] - projected) : 0);
    }
    if (p.d_error) p.d_error[b * m + v] = static_cast<T>(-d_out * solved);
    if (p.d_diagonal)
      p.d_diagonal[b * m + v] =
          static_cast<T>(counts ? 0.5 * d_out * (solved * solved - (1 - explained) * t.precision[v]) : 0);
  });
}

}  // namespace npzoo::joint
