#include "npzoo/models/applications/gaussian_process/gp_periods.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "npzoo/datasets/symmetric_factor.h"
#include "npzoo/engine/cancellation.h"

namespace npzoo {

namespace {

constexpr double kGridStep = 0.25;  // cycles within the extent
constexpr std::size_t kPeaks = 6, kMostPeriods = 3, kMostHarmonics = 4;

/// Sums of squares that a line and waves leave.
class WaveFit {
 public:
  WaveFit(std::span<const double> x, std::span<const double> y) : x_(x), y_(y) {}

  double most_cycles() const { return static_cast<double>(y_.size()) / 2; }

  /// The Bayesian information criterion of a line and waves of `cycles` and its multiples. Waves faster than
  /// `most_cycles` are left out.
  double criterion(double cycles, std::size_t harmonics) const {
    const double n = static_cast<double>(y_.size());
    const auto fast = static_cast<std::size_t>(most_cycles() / cycles);
    const std::size_t waves = std::min(harmonics, fast);
    const double left = std::max(remaining(cycles, waves), 1e-12 * n);
    return n * std::log(left / n) + 2 * static_cast<double>(waves) * std::log(n);
  }

  /// The periodogram of what the line leaves.
  std::vector<double> spectrum() const {
    const std::vector<double> flat = without_line();
    std::vector<double> power;
    for (double cycles = 1; cycles < most_cycles(); cycles += kGridStep) {
      throw_if_stopped();
      double c = 0, s = 0;
      for (std::size_t i = 0; i < flat.size(); ++i) {
        const double angle = 2 * std::numbers::pi * cycles * x_[i];
        c += flat[i] * std::cos(angle);
        s += flat[i] * std::sin(angle);
      }
      power.push_back(c * c + s * s);
    }
    return power;
  }

 private:
  /// Columns of the design at one place: 1, x, and cosine and sine of each wave.
  static void fill_row(double x, double cycles, std::size_t waves, std::vector<double>& row) {
    row = {1, x};
    const double angle = 2 * std::numbers::pi * cycles * x, c = std::cos(angle), s = std::sin(angle);
    double cosine = 1, sine = 0;
    for (std::size_t k = 1; k <= waves; ++k) {
      const double before = cosine;
      cosine = before * c - sine * s;
      sine = before * s + sine * c;
      row.push_back(cosine);
      row.push_back(sine);
    }
  }

  /// Coefficients by least squares, and the squares that they leave.
  double solve(double cycles, std::size_t waves, std::vector<double>& b) const {
    constexpr double kRidge = 1e-9;  // few places, or equal ones, do not determine all coefficients
    const std::size_t p = 2 + 2 * waves;
    std::vector<double> a(p * p), row;
    b.assign(p, 0.0);
    double squares = 0;
    for (std::size_t i = 0; i < y_.size(); ++i) {
      fill_row(x_[i], cycles, waves, row);
      for (std::size_t j = 0; j < p; ++j) {
        for (std::size_t k = 0; k <= j; ++k) a[j * p + k] += row[j] * row[k];
        b[j] += row[j] * y_[i];
      }
      squares += y_[i] * y_[i];
    }
    for (std::size_t j = 0; j < p; ++j) a[j * p + j] += kRidge * static_cast<double>(y_.size());
    const SymmetricFactor factor(std::move(a), static_cast<std::int64_t>(p));
    factor.solve_lower(b);
    for (const double part : b) squares -= part * part;
    factor.solve_upper(b);
    return squares;
  }

  double remaining(double cycles, std::size_t waves) const {
    std::vector<double> b;
    return solve(cycles, waves, b);
  }

  std::vector<double> without_line() const {
    std::vector<double> b, flat(y_.begin(), y_.end());
    solve(1, 0, b);
    for (std::size_t i = 0; i < flat.size(); ++i) flat[i] -= b[0] + b[1] * x_[i];
    return flat;
  }

  std::span<const double> x_, y_;
};

struct Candidate {
  double cycles, criterion;
};

/// The best number of cycles within a step of the grid on each side, by a scan and golden sections.
Candidate refined(const WaveFit& fit, double cycles, std::size_t harmonics) {
  constexpr int kScan = 8, kSections = 12;
  constexpr double kGolden = 0.6180339887498949;
  const double reach = kGridStep / static_cast<double>(kScan);
  Candidate best{cycles, std::numeric_limits<double>::infinity()};
  const auto look = [&](double at) {
    const double value = at > 0 ? fit.criterion(at, harmonics) : std::numeric_limits<double>::infinity();
    if (value < best.criterion) best = {at, value};
    return value;
  };
  for (int k = -kScan; k <= kScan; ++k) look(cycles + reach * k);
  double low = best.cycles - reach, high = best.cycles + reach;
  double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
  double at_left = look(left), at_right = look(right);
  for (int k = 0; k < kSections; ++k) {
    if (at_left < at_right) {
      high = right, right = left, at_right = at_left;
      left = high - kGolden * (high - low), at_left = look(left);
    } else {
      low = left, left = right, at_left = at_right;
      right = low + kGolden * (high - low), at_right = look(right);
    }
  }
  return best;
}

/// Numbers of the highest local maxima.
std::vector<std::size_t> highest_peaks(const std::vector<double>& power) {
  std::vector<std::size_t> peaks;
  for (std::size_t k = 0; k < power.size(); ++k)
    if ((k == 0 || power[k] > power[k - 1]) && (k + 1 == power.size() || power[k] >= power[k + 1])) peaks.push_back(k);
  std::ranges::stable_sort(peaks, std::ranges::greater(), [&](std::size_t k) { return power[k]; });
  peaks.resize(std::min(peaks.size(), kPeaks));
  return peaks;
}

}  // namespace

std::vector<double> likely_periods(std::span<const double> x, std::span<const double> y) {
  const WaveFit fit(x, y);
  std::vector<Candidate> all;
  for (const std::size_t peak : highest_peaks(fit.spectrum()))
    for (const double part : {1.0, 2.0, 3.0}) {
      throw_if_stopped();
      const double cycles = (1 + kGridStep * static_cast<double>(peak)) / part;
      if (cycles < 1) continue;
      Candidate best = refined(fit, cycles, 1);
      for (std::size_t harmonics = 2; harmonics <= kMostHarmonics; harmonics *= 2)
        if (const Candidate one = refined(fit, cycles, harmonics); one.criterion < best.criterion) best = one;
      all.push_back(best);
    }
  std::ranges::stable_sort(all, {}, &Candidate::criterion);
  std::vector<double> periods;
  for (const Candidate& one : all) {
    const auto same = [&](double period) { return std::abs(1 / period - one.cycles) < kGridStep; };
    if (periods.size() < kMostPeriods && std::ranges::none_of(periods, same)) periods.push_back(1 / one.cycles);
  }
  return periods;
}

}  // namespace npzoo
