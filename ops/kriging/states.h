#pragma once

#include <algorithm>
#include <cmath>

#include "npzoo/ops/kriging/moments.h"

// Matérn kernels on a line in time that grows linearly with the points: such a process is the first component of a
// vector that follows a linear stochastic differential equation (Hartikainen and Särkkä, "Kalman filtering and
// smoothing solutions to temporal Gaussian process regression models", 2010). Included by kernels for CPUs only.

namespace npzoo::kriging {

template <int kSize>
struct Square {
  double at[kSize][kSize] = {};
};

template <int kSize>
Square<kSize> operator*(const Square<kSize>& a, const Square<kSize>& b) {
  Square<kSize> c;
  for (int i = 0; i < kSize; ++i)
    for (int k = 0; k < kSize; ++k)
      for (int j = 0; j < kSize; ++j) c.at[i][j] += a.at[i][k] * b.at[k][j];
  return c;
}

template <int kSize>
Square<kSize> operator-(Square<kSize> a, const Square<kSize>& b) {
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j) a.at[i][j] -= b.at[i][j];
  return a;
}

template <int kSize>
Square<kSize> transposed(const Square<kSize>& a) {
  Square<kSize> t;
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j) t.at[i][j] = a.at[j][i];
  return t;
}

/// ∫ e^{−2s} s^m ds from 0 to `a` for m = 4 … 0, without cancellation.
struct DecayingPowers {
  double of[5];

  explicit DecayingPowers(double a) {
    const double decay = std::exp(-2 * a);
    double term = 1, series = 1;
    for (int k = 6; term > 1e-17 * series; ++k) {
      term *= 2 * a / k;
      series += term;
    }
    double power = a * a * a * a;
    of[4] = power * a * decay * series / 5;
    for (int m = 4; m > 0; --m) {
      of[m - 1] = (2 * of[m] + power * decay) / m;
      power = m > 1 ? power / a : 1;
    }
  }
};

/// A Matérn process and its derivatives over powers of λ = √(2ν) / length: kOrder = ν + ½ numbers.
template <int kOrder>
struct MaternEquation {
  using Matrix = Square<kOrder>;

  double rate;  // λ

  explicit MaternEquation(const KrigingKernel& kernel)
      : rate(kernel.inverse_length[0] * (kOrder == 1   ? 1
                                         : kOrder == 2 ? 1.73205080756887729353
                                                       : 2.23606797749978969641)) {}

  /// Covariance before anything is observed.
  static Matrix prior() {
    Matrix p;
    p.at[0][0] = 1;
    if constexpr (kOrder == 2) p.at[1][1] = 1;
    if constexpr (kOrder == 3) {
      p.at[1][1] = 1.0 / 3;
      p.at[2][2] = 1;
      p.at[0][2] = p.at[2][0] = -1.0 / 3;
    }
    return p;
  }

  /// How the numbers change over a distance: exp(−a) (I + N a + N² a² / 2) with a = λ · distance, since all eigenvalues
  /// of the equation are −λ.
  Matrix transition(double distance) const {
    const double a = rate * distance, decay = std::exp(-a);
    Matrix f;
    if constexpr (kOrder == 1) f.at[0][0] = decay;
    if constexpr (kOrder == 2) {
      f.at[0][0] = decay * (1 + a);
      f.at[0][1] = decay * a;
      f.at[1][0] = -decay * a;
      f.at[1][1] = decay * (1 - a);
    }
    if constexpr (kOrder == 3) {
      constexpr double kFirst[3][3] = {{1, 1, 0}, {0, 1, 1}, {-1, -3, -2}},
                       kSecond[3][3] = {{1, 2, 1}, {-1, -2, -1}, {1, 2, 1}};
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) f.at[i][j] = decay * ((i == j) + a * (kFirst[i][j] + a / 2 * kSecond[i][j]));
    }
    return f;
  }

  /// Covariance that they gain over a distance: what is left of the prior. Over short ones rounding would leave nothing
  /// of that, and the integral of the equation's noise takes its place.
  Matrix gained(double distance, const Matrix& transition) const {
    constexpr double kShort = 2;
    const double a = rate * distance;
    if (!(a < kShort)) return prior() - transition * prior() * transposed(transition);
    Matrix q;
    if (!(a > 0)) return q;
    const DecayingPowers powers(a);
    const double* const i = powers.of;
    if constexpr (kOrder == 1) q.at[0][0] = 2 * i[0];
    if constexpr (kOrder == 2) {
      q.at[0][0] = 4 * i[2];
      q.at[0][1] = q.at[1][0] = 4 * (i[1] - i[2]);
      q.at[1][1] = 4 * (i[0] - 2 * i[1] + i[2]);
    }
    if constexpr (kOrder == 3) {
      constexpr double kScale = 16.0 / 3;
      q.at[0][0] = kScale * i[4] / 4;
      q.at[0][1] = q.at[1][0] = kScale * (i[3] / 2 - i[4] / 4);
      q.at[0][2] = q.at[2][0] = kScale * (i[2] / 2 - i[3] + i[4] / 4);
      q.at[1][1] = kScale * (i[2] - i[3] + i[4] / 4);
      q.at[1][2] = q.at[2][1] = kScale * (i[1] - 2.5 * i[2] + 1.5 * i[3] - i[4] / 4);
      q.at[2][2] = kScale * (i[0] - 4 * i[1] + 5 * i[2] - 2 * i[3] + i[4] / 4);
    }
    return q;
  }
};

/// A place of the context, or a target.
struct Visit {
  double place;
  std::int64_t index;
  bool is_target;
};

/// Numbers of a place that the filter computes and the smoother reads.
struct Step {
  double mean, variance;  // of a target; at a point its error over the variance of its value, and 1 over that variance
  double gain[4];         // covariance of states and value
};

/// Kalman's filter along the line and a smoother back (de Jong, "Smoothing and interpolation with the state-space
/// model", 1989). States are the value without noise, derivatives, and the unknown mean. A value that is well known
/// while process and mean are not so keeps its digits.
template <int kOrder>
class Smoother {
 public:
  /// `noise` is that of a value, with jitter.
  Smoother(const KrigingKernel& kernel, double noise) : equation_(kernel), noise_(noise) {}

  /// Visits ascend. Values `y` are by their index. Returns false if rounding spoils a variance.
  bool filter(std::int64_t count, const Visit* visits, const double* y, Step* steps) {
    Matrix p;
    for (int r = 0; r < kOrder; ++r)
      for (int c = 0; c < kOrder; ++c) p.at[r][c] = Equation::prior().at[r][c];
    p.at[0][0] += kMeanVariance;
    p.at[0][kMean] = p.at[kMean][0] = p.at[kMean][kMean] = kMeanVariance;
    double state[kSize] = {};
    bool sound = true;
    for (std::int64_t i = 0; i < count; ++i) {
      if (i > 0) {
        move(visits[i].place - visits[i - 1].place);
        multiply(transition_, state);
        p = transition_ * p * back_;
        for (int r = 0; r < kOrder; ++r)
          for (int c = 0; c < kOrder; ++c) p.at[r][c] += gained_.at[r][c];
      }
      Step& step = steps[i];
      for (int r = 0; r < kSize; ++r) step.gain[r] = p.at[r][0];
      if (visits[i].is_target) {
        step.mean = state[0];
        step.variance = p.at[0][0];
        continue;
      }
      sound = sound && p.at[0][0] + noise_ > 0;
      step.variance = 1 / (p.at[0][0] + noise_);
      step.mean = (y[visits[i].index] - state[0]) * step.variance;
      const double left = noise_ * step.variance;  // 1 − gain[0] · variance
      for (int r = 0; r < kSize; ++r) {
        state[r] += step.gain[r] * step.mean;
        for (int c = 1; r > 0 && c < kSize; ++c) p.at[r][c] -= step.gain[r] * step.gain[c] * step.variance;
        p.at[r][0] = p.at[0][r] = step.gain[r] * left;
      }
    }
    return sound;
  }

  /// Calls put_target(index, mean, variance without noise) and put_point(index, K⁻¹ y, diagonal of K⁻¹).
  void smooth(std::int64_t count, const Visit* visits, const Step* steps, auto&& put_target, auto&& put_point) {
    Matrix n;  // later values take P N P from a covariance P, and add P r to states
    double r[kSize] = {};
    for (std::int64_t i = count - 1; i >= 0; --i) {
      const Step& step = steps[i];
      if (visits[i].is_target) {
        put_target(visits[i].index, step.mean + product(step.gain, r), step.variance - square(n, step.gain));
      } else {
        double kept[kSize], moves[kSize];  // how a state's error changes with the value's before it is seen, and −moves
        for (int a = 0; a < kSize; ++a) {
          moves[a] = step.gain[a] * step.variance;
          kept[a] = a == 0 ? noise_ * step.variance : -moves[a];
        }
        put_point(visits[i].index, step.mean - product(moves, r), step.variance + square(n, moves));
        r[0] = step.mean + product(kept, r);
        double of_kept[kSize] = {};
        for (int a = 0; a < kSize; ++a) of_kept[a] = product(n.at[a], kept);
        n.at[0][0] = step.variance + product(kept, of_kept);
        for (int a = 1; a < kSize; ++a) n.at[0][a] = n.at[a][0] = of_kept[a];
      }
      if (i == 0) break;
      move(visits[i].place - visits[i - 1].place);
      multiply(back_, r);
      n = back_ * n * transition_;
    }
  }

 private:
  using Equation = MaternEquation<kOrder>;
  static constexpr int kSize = kOrder + 1, kMean = kOrder;
  using Matrix = Square<kSize>;

  static double product(const double* a, const double* b) {
    double sum = 0;
    for (int i = 0; i < kSize; ++i) sum += a[i] * b[i];
    return sum;
  }

  static double square(const Matrix& n, const double* a) {
    double sum = 0;
    for (int i = 0; i < kSize; ++i) sum += a[i] * product(n.at[i], a);
    return sum;
  }

  static void multiply(const Matrix& by, double* state) {
    double moved[kSize];
    for (int i = 0; i < kSize; ++i) moved[i] = product(by.at[i], state);
    std::copy_n(moved, kSize, state);
  }

  /// Regular places have the same distance again and again.
  void move(double distance) {
    if (distance == distance_) return;
    distance_ = distance;
    const typename Equation::Matrix f = equation_.transition(distance);
    gained_ = equation_.gained(distance, f);
    for (int r = 0; r < kOrder; ++r) {
      for (int c = 0; c < kOrder; ++c) transition_.at[r][c] = f.at[r][c];
      transition_.at[r][kMean] = (r == 0) - f.at[r][0];  // the process is the value without the mean
    }
    transition_.at[kMean][kMean] = 1;
    back_ = transposed(transition_);
  }

  Equation equation_;
  double noise_, distance_ = -1;
  typename Equation::Matrix gained_;
  Matrix transition_, back_;
};

/// True if a kernel is Matérn's on a line.
inline bool have_states(const KrigingKernel& kernel, std::int64_t dims) {
  return dims == 1 && kernel.share == 0 && kernel.trend == 0;
}

/// Visits points and targets in the order of their places. Returns false if one of them is not finite.
template <class T>
bool visit_line(const KrigingPredict<T>& p, std::int64_t b, Visit* visits) {
  const std::int64_t n = length(p, b), targets = p.x ? p.targets : 0;
  for (std::int64_t i = 0; i < n; ++i) visits[i] = {p.places[b * p.points + i], i, false};
  for (std::int64_t i = 0; i < targets; ++i)
    visits[n + i] = {static_cast<double>(p.x[b * p.targets + i]) - p.centre[b], i, true};
  if (!std::all_of(visits, visits + n + targets, [](const Visit& v) { return std::isfinite(v.place); })) return false;
  std::sort(visits, visits + n + targets, [](const Visit& one, const Visit& other) {
    return one.place != other.place ? one.place < other.place : one.index < other.index;
  });
  return true;
}

template <int kOrder, class T>
bool predict_visits(const KrigingPredict<T>& p, std::int64_t b, std::int64_t s, const Visit* visits, Step* steps) {
  const KrigingKernel& kernel = p.kernels[b * p.keep + s];
  const double jitter = kJitter * (1 + kMeanVariance), *const y = p.values + b * p.points;
  const std::int64_t count = length(p, b) + (p.x ? p.targets : 0);
  double *const mean = p.each + (b * p.keep + s) * 2 * p.targets, *const variance = mean + p.targets;
  Smoother<kOrder> smoother(kernel, kernel.noise + jitter);
  if (!smoother.filter(count, visits, y, steps)) return false;
  smoother.smooth(
      count, visits, steps,
      [&](std::int64_t target, double expected, double left) {
        mean[target] = expected;
        variance[target] = kernel.variance * (at_least(left, jitter) + kernel.noise);
      },
      [&](std::int64_t i, double weighted, double precision) {
        if (p.x) return;
        mean[i] = y[i] - weighted / precision;
        variance[i] = kernel.variance / precision;
      });
  return true;
}

/// `predict` for a kernel that has states; slopes are not computed. Returns false, having done nothing, where numbers
/// are not finite or rounding is too large. There are as many visits and steps as points and targets.
template <class T>
bool predict_by_states(const KrigingPredict<T>& p, std::int64_t b, std::int64_t s, Visit* visits, Step* steps) {
  const KrigingKernel& kernel = p.kernels[b * p.keep + s];
  if (!visit_line(p, b, visits)) return false;
  if (kernel.smoothness == 0) return predict_visits<1>(p, b, s, visits, steps);
  if (kernel.smoothness == 1) return predict_visits<2>(p, b, s, visits, steps);
  return predict_visits<3>(p, b, s, visits, steps);
}

}  // namespace npzoo::kriging
