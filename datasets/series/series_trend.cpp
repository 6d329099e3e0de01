#include <algorithm>
#include <cmath>
#include <numbers>

#include "npzoo/datasets/series/season.h"
#include "npzoo/datasets/series/season_places.h"
#include "npzoo/datasets/series/wave.h"
#include "npzoo/datasets/symmetric_factor.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostWaves = 100;

double lag_one(std::span<const double> y) {
  double both = 0, squares = 0, pairs = 0, known = 0;
  for (std::size_t t = 0; t < y.size(); ++t) {
    if (std::isnan(y[t])) continue;
    squares += y[t] * y[t];
    ++known;
    if (t == 0 || std::isnan(y[t - 1])) continue;
    both += y[t] * y[t - 1];
    ++pairs;
  }
  constexpr double kMost = 0.99;
  return pairs > 2 && squares > 0 ? std::clamp(both / pairs / (squares / known), 0.0, kMost) : 0;
}

/// The variance of noise over that of the values, from the changes of a period; 1 if there are none.
double noise_share(std::span<const double> y, std::size_t period) {
  constexpr double kLeast = 1e-3;
  const double middle = mean_of_known(y);
  double changes = 0, pairs = 0, squares = 0, known = 0;
  for (std::size_t t = 0; t < y.size(); ++t) {
    if (std::isnan(y[t])) continue;
    squares += (y[t] - middle) * (y[t] - middle);
    ++known;
    if (t < period || std::isnan(y[t - period])) continue;
    changes += (y[t] - y[t - period]) * (y[t] - y[t - period]) / 2;
    ++pairs;
  }
  return pairs > 0 && squares > 0 ? std::clamp(changes / pairs / (squares / known), kLeast, 1.0) : 1;
}

/// Solves A z = b for a symmetric A (k, k) in place and returns the diagonal of its inverse. Columns without a pivot
/// are left out, with 0.
std::vector<double> solve(std::vector<double>& a, std::vector<double>& b) {
  const std::size_t k = b.size();
  std::vector<double> diagonal(k), scale(k);
  for (std::size_t i = 0; i < k; ++i) scale[i] = a[i * k + i];
  std::vector<bool> used(k, true);
  for (std::size_t i = 0; i < k; ++i) {  // L Lᵀ
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * k + j];
      for (std::size_t m = 0; m < j; ++m) sum -= a[i * k + m] * a[j * k + m];
      if (i == j) {
        used[i] = sum > 1e-9 * scale[i];
        a[i * k + i] = used[i] ? std::sqrt(sum) : 1;
      } else {
        a[i * k + j] = used[j] ? sum / a[j * k + j] : 0;
      }
    }
    if (!used[i]) std::fill_n(a.begin() + static_cast<std::ptrdiff_t>(i * k), i, 0.0);
  }
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t m = 0; m < i; ++m) b[i] -= a[i * k + m] * b[m];
    b[i] = used[i] ? b[i] / a[i * k + i] : 0;
  }
  for (std::size_t i = k; i-- > 0;) {
    for (std::size_t m = i + 1; m < k; ++m) b[i] -= a[m * k + i] * b[m];
    b[i] = used[i] ? b[i] / a[i * k + i] : 0;
  }
  std::vector<double> column(k);
  for (std::size_t c = 0; c < k; ++c) {  // of L⁻¹
    std::ranges::fill(column, 0);
    for (std::size_t i = c; i < k; ++i) {
      double sum = i == c ? 1 : 0;
      for (std::size_t m = c; m < i; ++m) sum -= a[i * k + m] * column[m];
      column[i] = used[i] ? sum / a[i * k + i] : 0;
      diagonal[c] += column[i] * column[i];
    }
  }
  return diagonal;
}

/// Line and waves at each step of a series, row-major: 1, the step over the number of steps, then the cosine and the
/// sine of each wave.
class TrendBasis {
 public:
  TrendBasis(std::size_t steps, std::span<const SeasonWave> waves)
      : columns_(2 + 2 * waves.size()), values_(steps * columns_) {
    for (std::size_t t = 0; t < steps; ++t) {
      values_[t * columns_] = 1;
      values_[t * columns_ + 1] = static_cast<double>(t) / static_cast<double>(steps);
    }
    for (std::size_t j = 0; j < waves.size(); ++j) {
      const bool alternates = 2 * waves[j].frequency > 1 - 1e-9;  // its sine is 0 at every step
      Wave wave(waves[j].frequency);
      for (std::size_t t = 0; t < steps; ++t) {
        double* row = values_.data() + t * columns_;
        row[2 + 2 * j] = wave.cosine();
        row[3 + 2 * j] = alternates ? 0 : wave.sine();
        wave.next();
      }
    }
  }

  std::size_t columns() const { return columns_; }
  std::span<const double> row(std::size_t step) const { return std::span(values_).subspan(step * columns_, columns_); }

 private:
  std::size_t columns_;
  std::vector<double> values_;
};

/// The normal equations of a least squares problem.
struct NormalEquations {
  std::vector<double> matrix, right;  // (k, k), of which the lower triangle, and (k)
  double squares = 0, count = 0;
};

/// Takes from each step what its predecessor predicts, as `whiten` does. Values are less `middle`, since differences of
/// large squares would be rounding alone.
NormalEquations normal_equations(const TrendBasis& basis, std::span<const double> y, double middle,
                                 double correlation) {
  const std::size_t k = basis.columns(), width = k + 1;
  const double alone = std::sqrt(1 - correlation * correlation);
  std::vector<double> rows;  // (known values, k + 1), the last column is the value
  for (std::size_t t = 0; t < y.size(); ++t) {
    if (std::isnan(y[t])) continue;
    const bool first = t == 0 || std::isnan(y[t - 1]);
    const double before = first ? 0 : correlation, weight = first ? alone : 1;
    const std::span<const double> now = basis.row(t), last = basis.row(first ? t : t - 1);
    for (std::size_t i = 0; i < k; ++i) rows.push_back(weight * (now[i] - before * last[i]));
    rows.push_back(weight * (y[t] - middle - (first ? 0 : before * (y[t - 1] - middle))));
  }
  std::vector<double> negative(width * width, 0);
  subtract_square(negative, static_cast<std::int64_t>(width), rows);
  NormalEquations normal{std::vector<double>(k * k, 0), std::vector<double>(k), -negative[k * width + k],
                         static_cast<double>(rows.size() / width)};
  for (std::size_t i = 0; i < k; ++i) {
    normal.right[i] = -negative[k * width + i];
    for (std::size_t j = 0; j <= i; ++j) normal.matrix[i * k + j] = -negative[i * width + j];
  }
  return normal;
}

}  // namespace

SeriesTrend::SeriesTrend(std::span<const double> y, std::span<const double> periods) {
  const auto known = static_cast<double>(std::ranges::count_if(y, [](double v) { return !std::isnan(v); }));
  std::vector<double> ascending(periods.begin(), periods.end());
  std::ranges::sort(ascending);
  for (const double period : ascending) {
    if (!(2 * period <= static_cast<double>(y.size())) || period < 2) continue;
    const auto most = static_cast<std::int64_t>(period / 2 + 1e-9);
    for (std::int64_t j = 1; j <= most && std::ssize(waves_) < kMostWaves; ++j) {
      const double frequency = static_cast<double>(j) / period;
      const bool again = std::ranges::any_of(
          waves_, [frequency](const SeasonWave& w) { return std::abs(w.frequency - frequency) < 1e-9; });
      if (!again && 2 * static_cast<double>(waves_.size()) + 5 < 0.6 * known) waves_.push_back({frequency, 0, 0, 0});
    }
  }
  if (known < 2) return;
  const TrendBasis basis(y.size(), waves_);
  const auto residual_correlation = [&] {
    std::vector<double> left(y.begin(), y.end());
    for (std::size_t t = 0; t < y.size(); ++t) {
      if (std::isnan(y[t])) continue;
      const std::span<const double> row = basis.row(t);
      left[t] -= level_ + raw_slope_ * static_cast<double>(t);
      for (std::size_t j = 0; j < waves_.size(); ++j)
        left[t] -= waves_[j].cosine * row[2 + 2 * j] + waves_[j].sine * row[3 + 2 * j];
    }
    return lag_one(left);
  };
  const double middle = mean_of_known(y);
  // Waves have a prior with the variance of the values, which decides where the season has no value.
  double ridge = 0;
  for (const double period : ascending)
    if (2 * period <= static_cast<double>(y.size()) && period >= 2 && SeasonPlaces(y, period).any_closed())
      ridge = std::max(ridge, noise_share(y, static_cast<std::size_t>(std::llround(period))));
  const auto fit = [&](double correlation) {
    NormalEquations normal = normal_equations(basis, y, middle, correlation);
    for (std::size_t i = 2; i < basis.columns(); ++i) normal.matrix[i * basis.columns() + i] += ridge;
    take_solution(normal.matrix, normal.right, {.squares = normal.squares, .count = normal.count, .ridge = ridge},
                  y.size());
    level_ += middle;
  };
  fit(0);
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    correlation_ = residual_correlation();
    fit(correlation_);
  }
}

double SeriesTrend::season(double place) const {
  double sum = 0;
  for (const SeasonWave& w : waves_) {
    const double angle = 2 * std::numbers::pi * w.frequency * place;
    sum += w.cosine * std::cos(angle) + w.sine * std::sin(angle);
  }
  return sum;
}

void SeriesTrend::take_solution(std::vector<double> normal, const std::vector<double>& right, const Sums& of,
                                std::size_t steps) {
  const std::size_t k = right.size();
  std::vector<double> solution = right;
  const std::vector<double> inverse = solve(normal, solution);
  double rest = of.squares;
  for (std::size_t i = 0; i < k; ++i) rest -= solution[i] * right[i];
  const double noise = std::max(rest, 1e-12 * of.squares) / std::max(of.count - static_cast<double>(k), 1.0);
  level_ = solution[0];
  raw_slope_ = solution[1] / static_cast<double>(steps);
  const double raw_variance = noise * inverse[1] / static_cast<double>(steps * steps);
  const double kept = raw_slope_ != 0 ? std::max(0.0, 1 - raw_variance / (raw_slope_ * raw_slope_)) : 0;
  slope_ = kept * raw_slope_;
  slope_variance_ = raw_variance * (0.5 + 0.5 * kept);
  season_variance_ = 0;
  degrees_ = 0;
  if (of.ridge > 0) {  // waves are sure where there are values, and together alone
    for (std::size_t j = 0; j < waves_.size(); ++j) {
      waves_[j].cosine = solution[2 + 2 * j];
      waves_[j].sine = solution[3 + 2 * j];
      degrees_ += 2 - of.ridge * (inverse[2 + 2 * j] + inverse[3 + 2 * j]);
    }
    season_variance_ = noise * std::min(1.0, degrees_ / of.count);
    return;
  }
  for (std::size_t j = 0; j < waves_.size(); ++j) {
    SeasonWave& w = waves_[j];
    const double c = solution[2 + 2 * j], s = solution[3 + 2 * j];
    const double variance = noise * (inverse[2 + 2 * j] + inverse[3 + 2 * j]) / 2;
    const double power = (c * c + s * s) / 2;
    const double share = power > 0 ? std::max(0.0, 1 - variance / power) : 0;
    w.cosine = share * c;
    w.sine = share * s;
    w.variance = share * variance;
    season_variance_ += w.variance;
    degrees_ += 2 * share;
  }
}

}  // namespace npzoo
