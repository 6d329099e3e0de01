#include "npzoo/datasets/series/season.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "npzoo/engine/cancellation.h"

namespace npzoo {

namespace {

constexpr std::int64_t kLongestPeriod = 200, kMostWaves = 100, kLongestSearch = 2000;

/// Values, and 0 where none is known.
struct Whitened {
  std::vector<double> values;
  double count = 0, variance = 0;
};

/// Subtracts from each value the part that its predecessor predicts. A value without a known predecessor is scaled to
/// the same variance instead. `y` has a mean of 0; unknown values give 0.
Whitened whiten(std::span<const double> y, double correlation) {
  Whitened w{std::vector<double>(y.size(), 0)};
  const double alone = std::sqrt(1 - correlation * correlation);
  double squares = 0;
  for (std::size_t t = 0; t < y.size(); ++t) {
    if (std::isnan(y[t])) continue;
    w.values[t] = t == 0 || std::isnan(y[t - 1]) ? alone * y[t] : y[t] - correlation * y[t - 1];
    squares += w.values[t] * w.values[t];
    ++w.count;
  }
  w.variance = w.count > 0 ? squares / w.count : 0;
  return w;
}

double mean_of_known(std::span<const double> y) {
  double sum = 0, count = 0;
  for (const double v : y) {
    if (std::isnan(v)) continue;
    sum += v;
    ++count;
  }
  return sum / count;
}

/// Takes the mean of the known values away, and returns the largest that was known.
double centre(std::vector<double>& y) {
  const double mean = mean_of_known(y);
  double largest = 0;
  for (double& v : y) {
    if (!std::isnan(v)) largest = std::max(largest, std::abs(v));
    v -= mean;
  }
  return largest;
}

/// The spectrum without its peaks: medians over neighbouring frequencies, as the variance of white noise that has them.
class Background {
 public:
  explicit Background(const Whitened& w) : size_(w.values.size()) {
    const std::size_t most = std::min<std::size_t>(size_ / 2, 400);
    for (std::size_t k = 1; k <= most; ++k) {
      const double turn = 2 * std::numbers::pi * static_cast<double>(k) * 0.5 / static_cast<double>(most);
      double c = 0, s = 0, cos_t = 1, sin_t = 0;
      const double cos_1 = std::cos(turn), sin_1 = std::sin(turn);
      for (const double v : w.values) {
        c += v * cos_t;
        s += v * sin_t;
        const double next = cos_t * cos_1 - sin_t * sin_1;
        sin_t = sin_t * cos_1 + cos_t * sin_1;
        cos_t = next;
      }
      power_.push_back((c * c + s * s) / std::max(w.count, 1.0));
    }
  }

  double at(double frequency) const {
    const double place = 2 * frequency * static_cast<double>(power_.size());
    const auto end = static_cast<double>(power_.size());
    const auto first = static_cast<std::size_t>(std::clamp(0.5 * place - 4, 0.0, end - 1)),
               last = static_cast<std::size_t>(std::clamp(1.5 * place + 4, 0.0, end - 1));
    std::vector<double> near(power_.begin() + static_cast<std::ptrdiff_t>(first),
                             power_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    const auto middle = near.begin() + std::ssize(near) / 2;
    std::ranges::nth_element(near, middle);
    return *middle / std::numbers::ln2;  // the median of an exponential distribution
  }

 private:
  std::size_t size_;
  std::vector<double> power_;
};

/// Sums the gains of the harmonics that stand out of the background, each less its cost.
double score_period(const Whitened& w, const Background& background, std::int64_t period, double floor) {
  const auto p = static_cast<std::size_t>(period);
  std::vector<double> sums(p, 0);
  for (std::size_t t = 0; t < w.values.size(); ++t) sums[t % p] += w.values[t];
  const double cost = 2 * std::log(w.count);
  double score = 0;
  for (std::size_t j = 1; 2 * j <= p; ++j) {
    double c = 0, s = 0;
    for (std::size_t k = 0; k < p; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(j * k % p) / static_cast<double>(p);
      c += sums[k] * std::cos(angle);
      s += sums[k] * std::sin(angle);
    }
    const double share = 2 * j == p ? 1 : 2;
    const double frequency = static_cast<double>(j) / static_cast<double>(p);
    const double noise = std::max(background.at(frequency), floor);
    const double gain = share * (c * c + s * s) / (w.count * noise);
    score += std::max(0.0, gain - cost * share / 2);
  }
  return score;
}

/// Two periods must differ by half of the shorter one.
bool is_near(double period, double other) { return period < 1.5 * other && other < 1.5 * period; }

/// Returns the period with the highest score, 0 if there is none. A period that is not in `likely` gives way to a
/// shorter one that reaches a good part of its score, since long periods also explain the harmonics of others.
std::int64_t strongest_period(const Whitened& w, std::int64_t size, std::int64_t known,
                              std::span<const std::int64_t> likely, std::span<const double> found) {
  constexpr double kTie = 1.02, kPart = 0.35, kMost = 0.7;
  const auto is_likely = [likely](std::int64_t p) { return std::ranges::find(likely, p) != likely.end(); };
  const Background background(w);
  std::vector<std::pair<std::int64_t, double>> scores;
  double best = 0;
  std::int64_t longest = 0;
  for (std::int64_t p = 2; p <= std::min(size / 2, kLongestPeriod); ++p) {
    throw_if_stopped();
    const bool known_before = is_likely(p);
    if (!known_before && (3 * p > size || p < 3)) continue;
    if (!found.empty() && is_near(static_cast<double>(p), found[0])) continue;
    double score = score_period(w, background, p, 1e-3 * w.variance);
    if (!known_before) score = 0.95 * score - 2 * std::log(static_cast<double>(known));
    scores.emplace_back(p, score);
    if (score > kTie * best) {
      best = score;
      longest = p;
    }
  }
  if (is_likely(longest)) return longest;
  for (const auto& [p, score] : scores)
    if (p < longest && score > (is_likely(p) ? kPart : kMost) * best && (is_likely(p) || longest % p != 0)) return p;
  return longest;
}

/// Adds a period. A multiple of the first one takes its place, if smoothing can follow a season of that length.
void add_period(double period, std::vector<double>& found) {
  constexpr double kLongestSeason = 60;
  if (!found.empty() && std::fmod(period, found[0]) == 0 && period <= kLongestSeason) found.clear();
  found.push_back(period);
}

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

}  // namespace

std::vector<double> find_periods(std::span<const double> all, std::span<const std::int64_t> likely) {
  const auto y = all.last(std::min<std::size_t>(all.size(), kLongestSearch));
  const auto known = std::ranges::count_if(y, [](double v) { return !std::isnan(v); });
  std::vector<double> found;
  constexpr std::int64_t kFewest = 12;
  if (known < kFewest) return found;
  for (int round = 0; round < 2; ++round) {
    const SeriesTrend trend(y, found);
    std::vector<double> left(y.begin(), y.end());
    for (std::size_t t = 0; t < left.size(); ++t)
      left[t] -= trend.season(static_cast<double>(t)) + trend.slope() * static_cast<double>(t);
    constexpr double kRounding = 1e-12;
    const double largest = kRounding * centre(left);
    const Whitened w = whiten(left, trend.correlation());
    if (!(w.variance > largest * largest)) return found;
    const std::int64_t period = strongest_period(w, std::ssize(y), known, likely, found);
    if (period == 0) return found;
    add_period(static_cast<double>(period), found);
  }
  return found;
}

SeriesTrend::SeriesTrend(std::span<const double> y, std::span<const double> periods) {
  const auto known = static_cast<double>(std::ranges::count_if(y, [](double v) { return !std::isnan(v); }));
  for (const double period : periods) {
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
  correlation_ = 0;
  fit(y, 0);
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    correlation_ = residual_correlation(y);
    fit(y, correlation_);
  }
}

double SeriesTrend::residual_correlation(std::span<const double> y) const {
  std::vector<double> left(y.begin(), y.end());
  for (std::size_t t = 0; t < y.size(); ++t) {
    const auto place = static_cast<double>(t);
    left[t] -= level_ + raw_slope_ * place + season(place);
  }
  return lag_one(left);
}

double SeriesTrend::season(double place) const {
  double sum = 0;
  for (const SeasonWave& w : waves_) {
    const double angle = 2 * std::numbers::pi * w.frequency * place;
    sum += w.cosine * std::cos(angle) + w.sine * std::sin(angle);
  }
  return sum;
}

void SeriesTrend::fit(std::span<const double> y, double correlation) {
  const std::size_t n = y.size(), k = 2 + 2 * waves_.size();
  std::vector<double> basis(n * k);
  for (std::size_t t = 0; t < n; ++t) {
    double* row = basis.data() + t * k;
    row[0] = 1;
    row[1] = static_cast<double>(t) / static_cast<double>(n);
    for (std::size_t j = 0; j < waves_.size(); ++j) {
      const double angle = 2 * std::numbers::pi * waves_[j].frequency * static_cast<double>(t);
      row[2 + 2 * j] = std::cos(angle);
      row[3 + 2 * j] = 2 * waves_[j].frequency > 1 - 1e-9 ? 0 : std::sin(angle);
    }
  }
  std::vector<double> normal(k * k, 0), right(k, 0), row(k);
  double count = 0, squares = 0;
  const double middle = mean_of_known(y);  // differences of large squares would be rounding alone
  const auto take = [&](std::size_t t, double weight, bool first) {
    double value = y[t] - middle;
    std::copy_n(basis.data() + t * k, k, row.begin());
    if (!first) {
      value -= correlation * (y[t - 1] - middle);
      for (std::size_t i = 0; i < k; ++i) row[i] -= correlation * basis[(t - 1) * k + i];
    }
    value *= weight;
    for (double& v : row) v *= weight;
    for (std::size_t i = 0; i < k; ++i) {
      right[i] += row[i] * value;
      for (std::size_t j = 0; j <= i; ++j) normal[i * k + j] += row[i] * row[j];
    }
    squares += value * value;
    ++count;
  };
  const double alone = std::sqrt(1 - correlation * correlation);
  for (std::size_t t = 0; t < n; ++t) {
    if (std::isnan(y[t])) continue;
    const bool first = t == 0 || std::isnan(y[t - 1]);
    take(t, first ? alone : 1, first);
  }
  std::vector<double> solution = right;
  const std::vector<double> inverse = solve(normal, solution);
  double rest = squares;
  for (std::size_t i = 0; i < k; ++i) rest -= solution[i] * right[i];
  const double noise = std::max(rest, 1e-12 * squares) / std::max(count - static_cast<double>(k), 1.0);
  level_ = middle + solution[0];
  raw_slope_ = solution[1] / static_cast<double>(n);
  const double raw_variance = noise * inverse[1] / static_cast<double>(n * n);
  const double kept = raw_slope_ != 0 ? std::max(0.0, 1 - raw_variance / (raw_slope_ * raw_slope_)) : 0;
  slope_ = kept * raw_slope_;
  slope_variance_ = raw_variance * (0.5 + 0.5 * kept);
  season_variance_ = 0;
  degrees_ = 0;
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
